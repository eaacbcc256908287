// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Two-step ownership.
interface IOwnership {
    event OwnershipTransferStarted(address indexed currentOwner, address indexed pendingOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    /// @notice Names the next owner, who takes over by accepting.
    function transferOwnership(address _newOwner) external;

    function acceptOwnership() external;

    function owner() external view returns (address);

    /// @return The named next owner; zero when no handover is pending.
    function pendingOwner() external view returns (address);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Two-step ownership.
interface IOwnership {
    event OwnershipTransferStarted(address indexed currentOwner, address indexed pendingOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    /// @notice Names the next owner, who takes over by accepting.
    function transferOwnership(address _newOwner) external;

    /// @notice Takes the ownership over, by the named next owner. The oracle admin is dismissed.
    function acceptOwnership() external;

    /// @return The protocol's owner.
    function owner() external view returns (address);

    /// @return The named next owner; zero when no handover is pending.
    function pendingOwner() external view returns (address);
}

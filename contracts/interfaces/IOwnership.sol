// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Two-step ownership.
interface IOwnership {
    event OwnershipTransferStarted(address indexed currentOwner, address indexed pendingOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    /// @notice Proposes a new owner, who becomes the owner by accepting.
    function transferOwnership(address _newOwner) external;

    /// @notice Accepts the ownership; only for the proposed owner. The oracle admin is reset.
    function acceptOwnership() external;

    /// @return The protocol's owner.
    function owner() external view returns (address);

    /// @return The proposed owner; zero when no handover is pending.
    function pendingOwner() external view returns (address);
}

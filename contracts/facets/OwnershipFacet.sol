// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOwnership} from "../interfaces/IOwnership.sol";
import {LibDiamond} from "../libraries/LibDiamond.sol";

/// @title Two-step ownership.
contract OwnershipFacet is IOwnership {
    function transferOwnership(address _newOwner) external {
        LibDiamond.requireOwner();
        require(_newOwner != address(0), "Zero address");
        LibDiamond.store().pendingOwner = _newOwner;
        emit OwnershipTransferStarted(msg.sender, _newOwner);
    }

    function acceptOwnership() external {
        require(msg.sender == LibDiamond.store().pendingOwner, "Not pending owner");
        LibDiamond.setOwner(msg.sender);
    }

    function owner() external view returns (address) {
        return LibDiamond.store().owner;
    }

    function pendingOwner() external view returns (address) {
        return LibDiamond.store().pendingOwner;
    }
}

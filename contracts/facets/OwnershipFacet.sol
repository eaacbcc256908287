// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IHedgeAdmin} from "../interfaces/IHedgeAdmin.sol";
import {IOwnership} from "../interfaces/IOwnership.sol";
import {LibDiamond} from "../libraries/LibDiamond.sol";
import {LibStorage, Protocol} from "../libraries/LibStorage.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title Two-step ownership.
contract OwnershipFacet is IOwnership {
    function transferOwnership(address _newOwner) external {
        LibDiamond.requireOwner();
        require(_newOwner != address(0), Reasons.ZERO_ADDRESS);
        LibDiamond.store().pendingOwner = _newOwner;
        emit OwnershipTransferStarted(msg.sender, _newOwner);
    }

    function acceptOwnership() external {
        require(msg.sender == LibDiamond.store().pendingOwner, Reasons.NOT_PENDING_OWNER);
        LibDiamond.setOwner(msg.sender);
        // The new owner must set an oracle admin again. Until then only the owner settles.
        Protocol storage s = LibStorage.protocol();
        if (s.oracleAdmin == address(0)) return;
        s.oracleAdmin = address(0);
        emit IHedgeAdmin.OracleAdminSet(address(0));
    }

    function owner() external view returns (address) {
        return LibDiamond.store().owner;
    }

    function pendingOwner() external view returns (address) {
        return LibDiamond.store().pendingOwner;
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {HedgeEvent, LibStorage, Protocol} from "./LibStorage.sol";
import {LibDiamond} from "./LibDiamond.sol";
import {Reasons} from "./Reasons.sol";

/// @title Checks that every facet makes before it acts.
abstract contract Guards {
    modifier onlyOwner() {
        LibDiamond.requireOwner();
        _;
    }

    modifier whenNotPaused() {
        require(!LibStorage.protocol().paused, Reasons.PAUSED);
        _;
    }

    /// @dev One flag for the whole proxy, since a token could call back into any facet.
    modifier nonReentrant() {
        Protocol storage p = LibStorage.protocol();
        require(p.locked == 0, Reasons.REENTRANT_CALL);
        p.locked = 1;
        _;
        p.locked = 0;
    }

    function existing(uint256 eventId) internal view returns (HedgeEvent storage e) {
        e = LibStorage.protocol().events[eventId];
        require(e.creator != address(0), Reasons.EVENT_NOT_FOUND);
    }
}

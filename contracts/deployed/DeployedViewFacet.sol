// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ViewFacet} from "../facets/ViewFacet.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {Deposit, HedgeEvent, LibStorage, Position} from "../libraries/LibStorage.sol";
import {LibDeployed} from "./LibDeployed.sol";

/// @title Views whose meaning differs from the specification's views of the same names.
contract DeployedViewFacet is ViewFacet {
    /// @return The liquidity that is free for worst-case payouts, not the notional that it covers.
    function capacityOf(HedgeEvent storage e) internal view override returns (uint256) {
        return LibDeployed.free(e);
    }

    /// @return The worst-case payout until the event is settled.
    function payoutOf(Position storage p) internal view override returns (uint256) {
        HedgeEvent storage e = LibStorage.protocol().events[p.eventId];
        return e.settledAt == 0 ? LibPool.worstPayout(e, p.notional) : LibPool.payout(p);
    }

    /// @return The claimed premiums: the record changes only with claims.
    function earnedOf(Deposit storage d) internal view override returns (uint256) {
        return d.premiumsClaimed;
    }
}

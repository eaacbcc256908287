// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {OracleFacet} from "../facets/OracleFacet.sol";
import {LibConsensus} from "../libraries/LibConsensus.sol";
import {LibStorage, Protocol} from "../libraries/LibStorage.sol";

/// @title Settlement at the mean of all fresh rates; one that does not agree clears the round.
contract DeployedOracleFacet is OracleFacet {
    function agree(uint256 eventId) internal override returns (uint256 price, uint256 signers) {
        Protocol storage s = LibStorage.protocol();
        uint256[] memory prices = freshPrices(eventId);
        if (prices.length < s.requiredSigners) return (0, 0);
        clear(eventId);
        if (LibConsensus.largestAgreeing(prices, s.toleranceBps).length < prices.length) {
            emit SubmissionsCleared(eventId, "Price disagreement exceeds tolerance");
            return (0, 0);
        }
        for (uint256 i; i < prices.length; i++) price += prices[i];
        return (price / prices.length, prices.length);
    }
}

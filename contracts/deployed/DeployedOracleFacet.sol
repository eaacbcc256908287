// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OracleFacet} from "../facets/OracleFacet.sol";
import {LibMoney} from "../libraries/LibMoney.sol";
import {LibStorage, Protocol} from "../libraries/LibStorage.sol";
import {Reasons} from "../libraries/Reasons.sol";
import {LibDeployed} from "./LibDeployed.sol";

/// @title Settlement at the mean of all fresh rates. A rate that does not agree clears the round. Oracles must wait
/// between rates.
contract DeployedOracleFacet is OracleFacet {
    uint256 private constant COOLDOWN = 300;
    uint256 private constant BPS_ONE = 10_000;

    function submitRate(uint256 _eventId, uint256 _price) external override nonReentrant {
        mapping(address => uint256) storage last = LibDeployed.store().lastSubmission[_eventId];
        require(
            block.timestamp >= last[msg.sender] + COOLDOWN,
            Reasons.RESUBMIT_COOLDOWN
        );
        last[msg.sender] = block.timestamp;
        submit(_eventId, _price);
    }

    /// @dev After a manual clearing an oracle may submit again at once. After a disagreement it must wait for the
    /// cooldown.
    function clearStaleSubmissions(uint256 _eventId) external override onlyOwner {
        address[] storage submitters = LibStorage.protocol().submitters[_eventId];
        for (uint256 i; i < submitters.length; i++) delete LibDeployed.store().lastSubmission[_eventId][submitters[i]];
        clearOpen(_eventId, "Manually cleared by admin");
    }

    function agree(uint256 eventId) internal override returns (uint256 price, uint256 signers) {
        Protocol storage s = LibStorage.protocol();
        uint256[] memory prices = freshPrices(eventId);
        if (prices.length < s.requiredSigners) return (0, 0);
        clear(eventId);
        uint256 low = prices[0];
        uint256 high = prices[0];
        for (uint256 i; i < prices.length; i++) {
            (low, high) = (LibMoney.min(low, prices[i]), LibMoney.max(high, prices[i]));
            price += prices[i];
        }
        if ((high - low) * BPS_ONE / low > s.toleranceBps) {
            emit SubmissionsCleared(eventId, "Price disagreement exceeds tolerance");
            return (0, 0);
        }
        return (price / prices.length, prices.length);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOracle} from "../interfaces/IOracle.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibConsensus} from "../libraries/LibConsensus.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent, LibStorage, Protocol, Submission} from "../libraries/LibStorage.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title Rates from registered oracles, and settlement when enough of them agree.
contract OracleFacet is IOracle, Guards {
    /// Limits every loop over oracles and submissions.
    uint256 private constant MAX_ORACLES = 10;
    uint256 private constant MAX_TOLERANCE_BPS = 1_000;
    uint256 private constant STALE_AFTER = 900;

    function submitRate(uint256 _eventId, uint256 _price) external virtual nonReentrant {
        submit(_eventId, _price);
    }

    function addOracle(address _oracle) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        require(_oracle != address(0), Reasons.ZERO_ADDRESS);
        require(!s.isOracle[_oracle], Reasons.ALREADY_AN_ORACLE);
        require(s.oracles.length < MAX_ORACLES, Reasons.TOO_MANY_ORACLES);
        s.isOracle[_oracle] = true;
        s.oracles.push(_oracle);
        emit OracleAdded(_oracle);
    }

    /// @dev The last oracle of the set moves to the removed one's index.
    function removeOracle(address _oracle) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        require(s.isOracle[_oracle], Reasons.NOT_AN_ORACLE);
        require(s.oracles.length > s.requiredSigners, Reasons.TOO_FEW_ORACLES);
        s.isOracle[_oracle] = false;
        s.oracleTerm[_oracle]++;
        uint256 index;
        while (s.oracles[index] != _oracle) index++;
        s.oracles[index] = s.oracles[s.oracles.length - 1];
        s.oracles.pop();
        emit OracleRemoved(_oracle);
    }

    function setRequiredSigners(uint256 _required) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        require(_required >= 2, Reasons.AT_LEAST_TWO_SIGNERS);
        require(_required <= s.oracles.length, Reasons.TOO_FEW_ORACLES);
        s.requiredSigners = _required;
        emit OracleConfigUpdated(_required, s.toleranceBps);
    }

    function setToleranceBps(uint256 _bps) external onlyOwner {
        require(_bps <= MAX_TOLERANCE_BPS, Reasons.TOLERANCE_TOO_WIDE);
        LibStorage.protocol().toleranceBps = _bps;
        emit OracleConfigUpdated(LibStorage.protocol().requiredSigners, _bps);
    }

    function clearStaleSubmissions(uint256 _eventId) external virtual onlyOwner {
        clearOpen(_eventId, "Cleared by owner");
    }

    function getOracleConfig()
        external
        view
        returns (uint256 requiredSigners, uint256 toleranceBps, uint256 oracleCount, uint256 maxOracles)
    {
        Protocol storage s = LibStorage.protocol();
        return (s.requiredSigners, s.toleranceBps, s.oracles.length, MAX_ORACLES);
    }

    function getOracles() external view returns (address[] memory) {
        return LibStorage.protocol().oracles;
    }

    function getAllSubmissions(uint256 _eventId)
        external
        view
        returns (
            address[] memory oracleAddresses,
            uint256[] memory prices,
            uint256[] memory timestamps,
            bool[] memory isStale
        )
    {
        Protocol storage s = LibStorage.protocol();
        oracleAddresses = s.submitters[_eventId];
        uint256 count = oracleAddresses.length;
        (prices, timestamps, isStale) = (new uint256[](count), new uint256[](count), new bool[](count));
        for (uint256 i; i < count; i++) {
            Submission storage each = s.submissions[_eventId][oracleAddresses[i]];
            (prices[i], timestamps[i]) = (each.price, each.timestamp);
            isStale[i] = stale(_eventId, oracleAddresses[i]);
        }
    }

    function getSubmission(uint256 _eventId, address _oracle)
        external
        view
        returns (uint256 price, uint256 timestamp, bool exists, bool isStale)
    {
        Submission storage own = LibStorage.protocol().submissions[_eventId][_oracle];
        exists = own.timestamp != 0;
        return (own.price, own.timestamp, exists, exists && stale(_eventId, _oracle));
    }

    function getSubmitterCount(uint256 _eventId) external view returns (uint256) {
        return LibStorage.protocol().submitters[_eventId].length;
    }

    function isAuthorisedOracle(address _oracle) external view returns (bool) {
        return LibStorage.protocol().isOracle[_oracle];
    }

    /// @notice Records the caller's rate, and settles the event when enough rates agree.
    function submit(uint256 eventId, uint256 price) internal {
        Protocol storage s = LibStorage.protocol();
        require(s.isOracle[msg.sender], Reasons.NOT_AN_ORACLE);
        HedgeEvent storage e = existing(eventId);
        require(e.settledAt == 0, Reasons.EVENT_SETTLED);
        require(block.timestamp >= e.expiryDate, Reasons.EVENT_NOT_EXPIRED);
        require(price > 0, Reasons.PRICE_IS_ZERO);

        Submission storage own = s.submissions[eventId][msg.sender];
        if (own.timestamp == 0) s.submitters[eventId].push(msg.sender);
        (own.price, own.timestamp, own.term) = (price, block.timestamp, s.oracleTerm[msg.sender]);
        emit RateSubmitted(eventId, msg.sender, price);

        (uint256 agreed, uint256 signers) = agree(eventId);
        if (signers == 0) return;
        emit ConsensusReached(eventId, agreed, signers);
        LibPool.settle(e, agreed);
        emit OracleEventSettled(eventId, agreed, e.triggered);
    }

    /// @return price on which the oracles agree
    /// @return signers number of agreeing oracles; 0 while too few agree
    function agree(uint256 eventId) internal virtual returns (uint256 price, uint256 signers) {
        Protocol storage s = LibStorage.protocol();
        uint256[] memory agreeing = LibConsensus.largestAgreeing(freshPrices(eventId), s.toleranceBps);
        if (agreeing.length < s.requiredSigners) return (0, 0);
        return (LibConsensus.medianDown(agreeing), agreeing.length);
    }

    /// @notice Deletes the submissions of an event that is not settled, and logs the reason.
    function clearOpen(uint256 eventId, string memory reason) internal {
        require(existing(eventId).settledAt == 0, Reasons.EVENT_SETTLED);
        require(LibStorage.protocol().submitters[eventId].length > 0, Reasons.NOTHING_TO_CLEAR);
        clear(eventId);
        emit SubmissionsCleared(eventId, reason);
    }

    function clear(uint256 eventId) internal {
        Protocol storage s = LibStorage.protocol();
        address[] storage submitters = s.submitters[eventId];
        for (uint256 i; i < submitters.length; i++) delete s.submissions[eventId][submitters[i]];
        delete s.submitters[eventId];
    }

    /// @return True for a submission that no longer counts: too old, or of an oracle that was removed since.
    function stale(uint256 eventId, address oracle) private view returns (bool) {
        Protocol storage s = LibStorage.protocol();
        Submission storage own = s.submissions[eventId][oracle];
        return block.timestamp > own.timestamp + STALE_AFTER || own.term != s.oracleTerm[oracle];
    }

    /// @dev Loops over the oracles instead of the submitters, so removed oracles cost no gas.
    function freshPrices(uint256 eventId) internal view returns (uint256[] memory prices) {
        Protocol storage s = LibStorage.protocol();
        prices = new uint256[](s.oracles.length);
        uint256 count;
        for (uint256 i; i < s.oracles.length; i++) {
            Submission storage each = s.submissions[eventId][s.oracles[i]];
            if (each.timestamp != 0 && !stale(eventId, s.oracles[i])) prices[count++] = each.price;
        }
        assembly {
            mstore(prices, count)
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOracle} from "../interfaces/IOracle.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibConsensus} from "../libraries/LibConsensus.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent, LibStorage, Protocol, Submission} from "../libraries/LibStorage.sol";

/// @title Rates from registered oracles, and settlement when enough of them agree.
contract OracleFacet is IOracle, Guards {
    /// Bounds every loop over oracles and submissions.
    uint256 private constant MAX_ORACLES = 10;
    uint256 private constant MAX_TOLERANCE_BPS = 1_000;
    uint256 private constant STALE_AFTER = 900;

    function submitRate(uint256 _eventId, uint256 _price) external nonReentrant {
        Protocol storage s = LibStorage.protocol();
        require(s.isOracle[msg.sender], "Not an oracle");
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, "Event settled");
        require(block.timestamp >= e.expiryDate, "Event not expired");
        require(_price > 0, "Price is zero");

        Submission storage own = s.submissions[_eventId][msg.sender];
        if (own.timestamp == 0) s.submitters[_eventId].push(msg.sender);
        (own.price, own.timestamp) = (_price, block.timestamp);
        emit RateSubmitted(_eventId, msg.sender, _price);

        (uint256 price, uint256 signers) = agree(_eventId);
        if (signers == 0) return;
        emit ConsensusReached(_eventId, price, signers);
        LibPool.settle(e, price);
        emit OracleEventSettled(_eventId, price, e.triggered);
    }

    function addOracle(address _oracle) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        require(_oracle != address(0), "Zero address");
        require(!s.isOracle[_oracle], "Already an oracle");
        require(s.oracles.length < MAX_ORACLES, "Too many oracles");
        s.isOracle[_oracle] = true;
        s.oracles.push(_oracle);
        emit OracleAdded(_oracle);
    }

    /// @dev Its submissions no longer count; the last oracle of the set takes its place.
    function removeOracle(address _oracle) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        require(s.isOracle[_oracle], "Not an oracle");
        require(s.oracles.length > s.requiredSigners, "Too few oracles");
        s.isOracle[_oracle] = false;
        uint256 index;
        while (s.oracles[index] != _oracle) index++;
        s.oracles[index] = s.oracles[s.oracles.length - 1];
        s.oracles.pop();
        emit OracleRemoved(_oracle);
    }

    function setRequiredSigners(uint256 _required) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        require(_required >= 2, "At least two signers");
        require(_required <= s.oracles.length, "Too few oracles");
        s.requiredSigners = _required;
        emit OracleConfigUpdated(_required, s.toleranceBps);
    }

    function setToleranceBps(uint256 _bps) external onlyOwner {
        require(_bps <= MAX_TOLERANCE_BPS, "Tolerance too wide");
        LibStorage.protocol().toleranceBps = _bps;
        emit OracleConfigUpdated(LibStorage.protocol().requiredSigners, _bps);
    }

    function clearStaleSubmissions(uint256 _eventId) external onlyOwner {
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, "Event settled");
        require(LibStorage.protocol().submitters[_eventId].length > 0, "Nothing to clear");
        clear(_eventId);
        emit SubmissionsCleared(_eventId, "Cleared by owner");
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
            (prices[i], timestamps[i], isStale[i]) = (each.price, each.timestamp, stale(each));
        }
    }

    function getSubmission(uint256 _eventId, address _oracle)
        external
        view
        returns (uint256 price, uint256 timestamp, bool exists, bool isStale)
    {
        Submission storage own = LibStorage.protocol().submissions[_eventId][_oracle];
        exists = own.timestamp != 0;
        return (own.price, own.timestamp, exists, exists && stale(own));
    }

    function getSubmitterCount(uint256 _eventId) external view returns (uint256) {
        return LibStorage.protocol().submitters[_eventId].length;
    }

    function isAuthorisedOracle(address _oracle) external view returns (bool) {
        return LibStorage.protocol().isOracle[_oracle];
    }

    /// @return price what the oracles agree on
    /// @return signers how many agree; 0 while too few do
    function agree(uint256 eventId) internal virtual returns (uint256 price, uint256 signers) {
        Protocol storage s = LibStorage.protocol();
        uint256[] memory agreeing = LibConsensus.largestAgreeing(freshPrices(eventId), s.toleranceBps);
        if (agreeing.length < s.requiredSigners) return (0, 0);
        return (LibConsensus.medianDown(agreeing), agreeing.length);
    }

    function clear(uint256 eventId) internal {
        Protocol storage s = LibStorage.protocol();
        address[] storage submitters = s.submitters[eventId];
        for (uint256 i; i < submitters.length; i++) delete s.submissions[eventId][submitters[i]];
        delete s.submitters[eventId];
    }

    function stale(Submission storage each) private view returns (bool) {
        return block.timestamp > each.timestamp + STALE_AFTER;
    }

    /// @dev Walks the oracles and not the submitters, so removed oracles neither count nor cost.
    function freshPrices(uint256 eventId) internal view returns (uint256[] memory prices) {
        Protocol storage s = LibStorage.protocol();
        prices = new uint256[](s.oracles.length);
        uint256 count;
        for (uint256 i; i < s.oracles.length; i++) {
            Submission storage each = s.submissions[eventId][s.oracles[i]];
            if (each.timestamp != 0 && !stale(each)) prices[count++] = each.price;
        }
        assembly {
            mstore(prices, count)
        }
    }
}

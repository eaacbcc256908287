// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Settlement by consensus of registered oracles. Prices are 1e6.
interface IOracle {
    event OracleEventSettled(uint256 indexed eventId, uint256 settlementPrice, bool triggered);
    event OracleAdded(address indexed oracle);
    event OracleRemoved(address indexed oracle);
    event OracleConfigUpdated(uint256 requiredSigners, uint256 toleranceBps);
    event RateSubmitted(uint256 indexed eventId, address indexed oracle, uint256 price);
    event ConsensusReached(uint256 indexed eventId, uint256 agreedPrice, uint256 signerCount);
    event SubmissionsCleared(uint256 indexed eventId, string reason);

    /// @notice Submits a rate at or after expiry; replaces the caller's earlier one. The submission that makes `requiredSigners`
    /// fresh ones agree within the tolerance settles the event at the median of the agreeing ones.
    function submitRate(uint256 _eventId, uint256 _price) external;

    function addOracle(address _oracle) external;

    function removeOracle(address _oracle) external;

    function setRequiredSigners(uint256 _required) external;

    function setToleranceBps(uint256 _bps) external;

    /// @notice Drops every submission of an event that is not settled.
    function clearStaleSubmissions(uint256 _eventId) external;

    function getOracleConfig()
        external
        view
        returns (uint256 requiredSigners, uint256 toleranceBps, uint256 oracleCount, uint256 maxOracles);

    function getOracles() external view returns (address[] memory);

    /// @dev Parallel arrays, in the order of the first submission.
    function getAllSubmissions(uint256 _eventId)
        external
        view
        returns (
            address[] memory oracleAddresses,
            uint256[] memory prices,
            uint256[] memory timestamps,
            bool[] memory isStale
        );

    function getSubmission(uint256 _eventId, address _oracle)
        external
        view
        returns (uint256 price, uint256 timestamp, bool exists, bool isStale);

    function getSubmitterCount(uint256 _eventId) external view returns (uint256);

    function isAuthorisedOracle(address _oracle) external view returns (bool);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Settlement by consensus of registered oracles. Prices are 1e6.
interface IOracle {
    event OracleEventSettled(uint256 indexed eventId, uint256 settlementPrice, bool triggered);
    event OracleAdded(address indexed oracle);
    event OracleRemoved(address indexed oracle);
    event OracleConfigUpdated(uint256 requiredSigners, uint256 toleranceBps);
    event RateSubmitted(uint256 indexed eventId, address indexed oracle, uint256 price);
    event ConsensusReached(uint256 indexed eventId, uint256 agreedPrice, uint256 signerCount);
    event SubmissionsCleared(uint256 indexed eventId, string reason);

    /// @notice Submits a rate at or after expiry; replaces the caller's earlier one. The submission with which
    /// `requiredSigners` fresh rates agree within the tolerance settles the event at the median of the agreeing rates.
    function submitRate(uint256 _eventId, uint256 _price) external;

    /// @notice Adds an oracle, at most ten.
    function addOracle(address _oracle) external;

    /// @notice Removes an oracle, as long as `requiredSigners` are left. Its submissions no longer count, even if it is
    /// added again.
    function removeOracle(address _oracle) external;

    /// @notice Sets the number of oracles that must agree: from two to the number of oracles.
    function setRequiredSigners(uint256 _required) external;

    /// @notice Sets the maximum difference between agreeing rates, in basis points of the lowest; at most 1,000.
    function setToleranceBps(uint256 _bps) external;

    /// @notice Deletes every submission of an event that is not settled.
    function clearStaleSubmissions(uint256 _eventId) external;

    /// @return requiredSigners number of oracles that must agree
    /// @return toleranceBps maximum difference between agreeing rates, in basis points of the lowest
    /// @return oracleCount number of oracles
    /// @return maxOracles maximum number of oracles
    function getOracleConfig()
        external
        view
        returns (uint256 requiredSigners, uint256 toleranceBps, uint256 oracleCount, uint256 maxOracles);

    /// @return The oracles; their order may change.
    function getOracles() external view returns (address[] memory);

    /// @notice The submissions of an event as parallel arrays, in the order of each oracle's first submission.
    /// @return oracleAddresses who submitted
    /// @return prices 1e6
    /// @return timestamps Unix seconds
    /// @return isStale true for one that does not count: older than 900 seconds, or of an oracle that was removed since
    function getAllSubmissions(uint256 _eventId)
        external
        view
        returns (
            address[] memory oracleAddresses,
            uint256[] memory prices,
            uint256[] memory timestamps,
            bool[] memory isStale
        );

    /// @return price 1e6
    /// @return timestamp Unix seconds
    /// @return exists false when the oracle has submitted nothing, or it was cleared
    /// @return isStale as in `getAllSubmissions`
    function getSubmission(uint256 _eventId, address _oracle)
        external
        view
        returns (uint256 price, uint256 timestamp, bool exists, bool isStale);

    /// @return The number of submissions of an event, stale ones included.
    function getSubmitterCount(uint256 _eventId) external view returns (uint256);

    /// @return Whether rates of this address are accepted.
    function isAuthorisedOracle(address _oracle) external view returns (bool);
}

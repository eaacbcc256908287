// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Protection: purchases and payouts.
interface IHedgeProtection {
    event PositionCreated(
        uint256 indexed eventId,
        uint256 indexed positionId,
        address indexed hedger,
        uint256 notional,
        uint256 premiumPaid,
        uint256 platformFee,
        uint256 totalCost
    );
    event PayoutClaimed(
        uint256 indexed positionId, address indexed hedger, uint256 grossPayout, uint256 fee, uint256 netPayout
    );

    /// @notice Buys protection on `_notional`; pulls the premium and the platform fee, at most `_maxCost`.
    /// @return positionId The position's id.
    function buyProtection(uint256 _eventId, uint256 _notional, uint256 _maxCost, uint256 _deadline)
        external
        returns (uint256 positionId);

    /// @notice Pays a settled and triggered position to its hedger, less the payout fee.
    function claimPayout(uint256 _positionId) external;
}

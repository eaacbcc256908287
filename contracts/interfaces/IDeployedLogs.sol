// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The creation logs with the names of the `deployed` profile.
interface IDeployedLogs {
    event HedgeEventCreated(
        uint256 indexed eventId,
        address indexed creator,
        string underlying,
        uint256 strike,
        uint256 premiumRate,
        uint256 expiryDate,
        uint256 initialLiquidity
    );
    event LiquidityDeposited(
        uint256 indexed eventId, uint256 indexed depositId, address indexed lp, uint256 amount, uint256 shares
    );
    event ProtectionPurchased(
        uint256 indexed eventId,
        uint256 indexed positionId,
        address indexed hedger,
        uint256 notional,
        uint256 premiumPaid,
        uint256 platformFee,
        uint256 totalCost
    );
}

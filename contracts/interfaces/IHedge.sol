// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {CreateEventParams} from "./IHedgeTypes.sol";

/// @title What creators, liquidity providers and hedgers do.
/// @notice Rates, strikes and caps are 1e6; amounts are in the event's payment-token units; every division rounds down.
/// While the protocol is paused `createEvent`, `deposit`, `buyProtection` and `setPoolSettings` revert with "Paused".
interface IHedge {
    event EventCreated(
        uint256 indexed eventId,
        address indexed creator,
        string underlying,
        uint256 strike,
        uint256 premiumRate,
        uint256 expiryDate,
        uint256 initialLiquidity
    );
    event DepositCreated(
        uint256 indexed eventId, uint256 indexed depositId, address indexed lp, uint256 amount, uint256 shares
    );
    event PositionCreated(
        uint256 indexed eventId,
        uint256 indexed positionId,
        address indexed hedger,
        uint256 notional,
        uint256 premiumPaid,
        uint256 platformFee,
        uint256 totalCost
    );
    event PoolSettingsUpdated(uint256 indexed eventId, bool poolOpen, bool allowExternalLp);
    event PayoutClaimed(
        uint256 indexed positionId, address indexed hedger, uint256 grossPayout, uint256 fee, uint256 netPayout
    );
    event PremiumsClaimed(
        uint256 indexed depositId, address indexed lp, uint256 grossAmount, uint256 fee, uint256 netAmount
    );
    event CapitalWithdrawn(uint256 indexed depositId, address indexed lp, uint256 amount);
    event CreatorEarningsWithdrawn(uint256 indexed eventId, address indexed creator, uint256 amount);

    /// @notice Creates an event with an open pool and seeds it; pulls the creation fee and the seed from the caller.
    /// @return eventId The event's id; the seed is the caller's first deposit.
    function createEvent(CreateEventParams calldata _params) external returns (uint256 eventId);

    /// @notice Adds liquidity to an open pool, until the event is settled.
    /// @return depositId The deposit's id.
    function deposit(uint256 _eventId, uint256 _amount) external returns (uint256 depositId);

    /// @notice Buys protection on `_notional`; pulls the premium and the platform fee, at most `_maxCost`.
    /// @return positionId The position's id.
    function buyProtection(uint256 _eventId, uint256 _notional, uint256 _maxCost, uint256 _deadline)
        external
        returns (uint256 positionId);

    /// @notice Pays a settled and triggered position to its hedger, less the payout fee.
    function claimPayout(uint256 _positionId) external;

    /// @notice Pays the premiums a deposit has earned and not yet claimed to its LP, less the LP fee. At any time.
    function claimPremiums(uint256 _depositId) external;

    /// @notice Pays an LP's share of what the pool holds after payouts. Once the event is settled.
    function withdrawCapital(uint256 _depositId) external;

    /// @notice Opens or closes a pool to deposits and purchases, and to other LPs than the creator. Until settlement.
    function setPoolSettings(uint256 _eventId, bool _poolOpen, bool _allowExternalLp) external;

    /// @notice Pays the creator's part of the platform fees of an event.
    function withdrawCreatorEarnings(uint256 _eventId) external;
}

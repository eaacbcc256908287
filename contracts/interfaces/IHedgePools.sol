// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Liquidity: deposits, premiums, capital and the creator's earnings.
interface IHedgePools {
    event DepositCreated(
        uint256 indexed eventId, uint256 indexed depositId, address indexed lp, uint256 amount, uint256 shares
    );
    event PremiumsClaimed(
        uint256 indexed depositId, address indexed lp, uint256 grossAmount, uint256 fee, uint256 netAmount
    );
    event CapitalWithdrawn(uint256 indexed depositId, address indexed lp, uint256 amount);
    event CreatorEarningsWithdrawn(uint256 indexed eventId, address indexed creator, uint256 amount);

    /// @notice Adds liquidity to an open pool, until the event is settled.
    /// @return depositId The deposit's id.
    function deposit(uint256 _eventId, uint256 _amount) external returns (uint256 depositId);

    /// @notice Pays the premiums a deposit has earned and not yet claimed to its LP, less the LP fee. Callable at any
    /// time.
    function claimPremiums(uint256 _depositId) external;

    /// @notice Pays an LP's share of the pool after payouts. Callable once the event is settled.
    function withdrawCapital(uint256 _depositId) external;

    /// @notice Pays the creator's share of an event's platform fees.
    function withdrawCreatorEarnings(uint256 _eventId) external;
}

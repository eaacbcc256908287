// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Reads of events, deposits, positions and fees. An unknown id reads as zeros and empty lists.
interface IHedgeViews {
    /// @return The number of events ever created, equal to the last event's id.
    function getTotalHedgeEvents() external view returns (uint256);

    /// @return id 0 for an event that does not exist
    /// @return creator who created it
    /// @return name a label
    /// @return underlying the pair
    /// @return strike near edge of the payout zone, 1e6
    /// @return premiumRate fraction of notional, 1e6
    /// @return expiryDate Unix seconds
    /// @return status 0 open, 1 settled
    /// @return poolOpen whether deposits and purchases are accepted
    /// @return allowExternalLp whether LPs other than the creator may deposit
    /// @return initialRate rate at creation, 1e6
    /// @return strikeAbove true for an upward hedge
    function getHedgeEventCore(uint256 _eventId)
        external
        view
        returns (
            uint256 id,
            address creator,
            string memory name,
            string memory underlying,
            uint256 strike,
            uint256 premiumRate,
            uint256 expiryDate,
            uint8 status,
            bool poolOpen,
            bool allowExternalLp,
            uint256 initialRate,
            bool strikeAbove
        );

    /// @return strike near edge of the payout zone, 1e6
    /// @return payoutCap far edge, 1e6; 0 for a single-strike event
    /// @return initialRate rate at creation, 1e6
    /// @return strikeAbove true for an upward hedge
    function getHedgeEventRange(uint256 _eventId)
        external
        view
        returns (uint256 strike, uint256 payoutCap, uint256 initialRate, bool strikeAbove);

    /// @notice An event's settlement and totals. Amounts are token units.
    /// @return settlementPrice 1e6; 0 until settled
    /// @return triggered whether the price lies in the payout zone
    /// @return settledAt Unix seconds; 0 until settled
    /// @return creatorEarnings not withdrawn yet
    /// @return totalLiquidity of all deposits, withdrawn or not
    /// @return totalExposure notional of all positions
    /// @return totalPremiums paid so far, before the LP fee
    /// @return lpCount number of deposits
    /// @return hedgerCount number of positions
    /// @return totalMaxPayout worst case of all positions while open; once settled the sum of their payouts, claimed or
    /// not
    function getHedgeEventStats(uint256 _eventId)
        external
        view
        returns (
            uint256 settlementPrice,
            bool triggered,
            uint256 settledAt,
            uint256 creatorEarnings,
            uint256 totalLiquidity,
            uint256 totalExposure,
            uint256 totalPremiums,
            uint256 lpCount,
            uint256 hedgerCount,
            uint256 totalMaxPayout
        );

    /// @return totalLiquidity token units
    /// @return totalExposure notional of all positions
    /// @return availableCapacity additional notional the pool can write; 0 while it is closed and from expiry on
    /// @return utilizationPercent worst case over liquidity, 1e8
    function getPoolUtilization(uint256 _eventId)
        external
        view
        returns (uint256 totalLiquidity, uint256 totalExposure, uint256 availableCapacity, uint256 utilizationPercent);

    /// @return Ids in the order of creation, at most 500.
    function getEventPositionIds(uint256 _eventId) external view returns (uint256[] memory);

    /// @return Ids in the order of creation, at most 200; the first is the seed.
    function getEventDepositIds(uint256 _eventId) external view returns (uint256[] memory);

    /// @return id 0 for a position that does not exist
    /// @return eventId its event
    /// @return hedger who bought it
    /// @return notional token units
    /// @return premiumPaid token units
    /// @return platformFeePaid token units
    /// @return payoutAmount before the payout fee; 0 until the event is settled
    /// @return status 0 active, 3 claimed, 4 claimable, 5 expired without a payout
    /// @return claimed whether the payout was paid
    function getHedgePosition(uint256 _positionId)
        external
        view
        returns (
            uint256 id,
            uint256 eventId,
            address hedger,
            uint256 notional,
            uint256 premiumPaid,
            uint256 platformFeePaid,
            uint256 payoutAmount,
            uint8 status,
            bool claimed
        );

    /// @return Ids of a hedger's positions in every event, in the order of creation. Unbounded.
    function getHedgerPositionIds(address _hedger) external view returns (uint256[] memory);

    /// @return id 0 for a deposit that does not exist
    /// @return eventId its event
    /// @return lp who made it
    /// @return amount token units
    /// @return shares of the pool
    /// @return premiumsEarned so far, claimed or not, before the LP fee
    /// @return premiumsClaimed of these, before the LP fee
    /// @return withdrawn whether the capital was paid back
    function getHedgeLpDeposit(uint256 _depositId)
        external
        view
        returns (
            uint256 id,
            uint256 eventId,
            address lp,
            uint256 amount,
            uint256 shares,
            uint256 premiumsEarned,
            uint256 premiumsClaimed,
            bool withdrawn
        );

    /// @return Ids of an LP's deposits in every event, in the order of creation. Unbounded.
    function getLpDepositIds(address _lp) external view returns (uint256[] memory);

    /// @return pending Premiums earned and not claimed, before the LP fee.
    function pendingPremiums(uint256 _depositId) external view returns (uint256 pending);

    /// @return Ids of a creator's events, in the order of creation. Unbounded.
    function getCreatorEventIds(address _creator) external view returns (uint256[] memory);

    /// @return payout The payout of `_notional` if the event settled at `_hypoSettlement`, before the payout fee.
    function quoteRangePayout(uint256 _eventId, uint256 _hypoSettlement, uint256 _notional)
        external
        view
        returns (uint256 payout);

    /// @notice The fees of future events; an event keeps the rates of its creation.
    /// @return eventCreationFee raw units of the event's payment token
    /// @return hedgerFeeRate of a premium, 1e6
    /// @return hedgerPayoutFeeRate of a payout, 1e6
    /// @return lpProfitFeeRate of premiums claimed, 1e6
    /// @return creatorLoyaltyRate the creator's share of these three fees, 1e6
    function getHedgeFeeConfig()
        external
        view
        returns (
            uint256 eventCreationFee,
            uint256 hedgerFeeRate,
            uint256 hedgerPayoutFeeRate,
            uint256 lpProfitFeeRate,
            uint256 creatorLoyaltyRate
        );

    /// @return Whether new events, deposits, purchases and pool settings are rejected.
    function isPaused() external view returns (bool);

    /// @return The signer whose quotes are accepted; zero for none.
    function getPricingEngineSigner() external view returns (address);

    /// @return Whether fees were ever set. No event can be created before.
    function isFeesInitialized() external view returns (bool);

    /// @return Whether an event was created with a quote of this nonce.
    function isQuoteNonceUsed(bytes32 _nonce) external view returns (bool);

    /// @return The engine that signed the event's quote; zero for a self-priced event.
    function getEventQuoteSigner(uint256 _eventId) external view returns (address);

    /// @dev Reverts with "Event not found" for an unknown id.
    function getEventPaymentToken(uint256 _eventId) external view returns (address);

    /// @return Whether events can be created in this token.
    function isAllowedPaymentToken(address _token) external view returns (bool);

    /// @return Fees collected in a token and not withdrawn, in its units.
    function getPlatformFeesByToken(address _token) external view returns (uint256);

    /// @return The sum of the raw units of all tokens.
    function getHedgePlatformFees() external view returns (uint256);
}

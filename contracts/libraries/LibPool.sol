// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Deposit, HedgeEvent, LibStorage, Position, Protocol} from "./LibStorage.sol";
import {LibMoney} from "./LibMoney.sol";
import {LibToken} from "./LibToken.sol";
import {Reasons} from "./Reasons.sol";

/// @title The accounts of one event's pool.
library LibPool {
    /// Limits the arrays that views return, and therefore the cost of reading them.
    uint256 internal constant MAX_DEPOSITS = 200;
    uint256 internal constant MAX_POSITIONS = 500;
    uint256 internal constant SCALE = 1e18;
    /// Maximum creation fee in whole tokens.
    uint256 private constant MAX_CREATION_FEE = 1000;
    /// Maximum liquidity of an event and maximum notional. Two such amounts, or an amount and a rate or scale, multiply
    /// without overflow.
    uint256 private constant MAX_AMOUNT = type(uint128).max;

    /// @notice Reverts for an amount that would raise an event's liquidity above the maximum.
    function requireRoom(uint256 totalLiquidity, uint256 amount) internal pure {
        require(amount <= MAX_AMOUNT - totalLiquidity, Reasons.AMOUNT_TOO_LARGE);
    }

    /// @notice Records a deposit; the caller moves the tokens and emits the log.
    /// @dev Liquidity never falls while an event is open, so the value of a share is constant: the first deposit sets
    /// it, every later deposit keeps it, and shares are never rounded.
    function addDeposit(uint256 eventId, address lp, uint256 amount, uint256 shares)
        internal
        returns (uint256 depositId)
    {
        Protocol storage p = LibStorage.protocol();
        HedgeEvent storage e = p.events[eventId];
        require(amount > 0, Reasons.AMOUNT_IS_ZERO);
        require(e.depositIds.length < MAX_DEPOSITS, Reasons.TOO_MANY_DEPOSITS);
        depositId = ++p.depositCount;
        Deposit storage d = p.deposits[depositId];
        (d.eventId, d.lp, d.amount, d.shares, d.entryPerShare) = (eventId, lp, amount, shares, e.premiumPerShare);
        e.totalShares += shares;
        e.totalLiquidity += amount;
        e.depositIds.push(depositId);
        p.lpDepositIds[lp].push(depositId);
    }

    /// @notice Distributes a premium over the current shares; the remainder of the division is distributed with the
    /// next premium.
    function accruePremium(HedgeEvent storage e, uint256 premium) internal {
        uint256 scaled = premium * SCALE + e.premiumRemainder;
        e.premiumPerShare += scaled / e.totalShares;
        e.premiumRemainder = scaled % e.totalShares;
        e.totalPremiums += premium;
    }

    /// @return Premium that a deposit has earned since its creation, rounded down.
    function earned(Deposit storage d) internal view returns (uint256) {
        HedgeEvent storage e = LibStorage.protocol().events[d.eventId];
        return (d.shares * (e.premiumPerShare - d.entryPerShare)) / SCALE;
    }

    /// @return Notional that the pool can still write: the largest whose worst case its free liquidity covers. 0 for a
    /// pool that is closed, expired, settled or unknown.
    function capacity(HedgeEvent storage e) internal view returns (uint256) {
        if (!e.poolOpen || block.timestamp >= e.expiryDate || e.settledAt != 0) return 0;
        uint256 w = LibMoney.width(e.strike, e.payoutCap, e.initialRate);
        return LibMoney.min(((e.totalLiquidity - e.totalMaxPayout) * e.initialRate) / w, MAX_AMOUNT);
    }

    /// @return The largest possible payout of a notional, rounded down.
    function worstPayout(HedgeEvent storage e, uint256 notional) internal view returns (uint256) {
        return LibMoney.payoutDown(notional, LibMoney.width(e.strike, e.payoutCap, e.initialRate), e.initialRate);
    }

    function moved(HedgeEvent storage e, uint256 rate) internal view returns (uint256) {
        return LibMoney.move(e.strike, e.payoutCap, e.initialRate, e.strikeAbove, rate);
    }

    /// @return Payout of a position, before the fee: 0 until the event is settled and after unclaimed payouts were
    /// recovered.
    function payout(Position storage position) internal view returns (uint256) {
        HedgeEvent storage e = LibStorage.protocol().events[position.eventId];
        if (e.settledAt == 0 || (e.recovered && !position.claimed)) return 0;
        return LibMoney.payoutDown(position.notional, moved(e, e.settlementPrice), e.initialRate);
    }

    /// @notice Settles an event at `price` and reserves the payouts of its positions.
    /// @dev No loop: the payout of the summed notional is at least the sum of the payouts, each of which was rounded
    /// down, and it never exceeds the amount reserved at purchase. The difference, under one unit per position, stays
    /// in the reserve.
    function settle(HedgeEvent storage e, uint256 price) internal {
        e.settlementPrice = price;
        e.settledAt = block.timestamp;
        e.triggered = LibMoney.triggered(e.strike, e.strikeAbove, price);
        uint256 drawn = LibMoney.payoutDown(e.totalExposure, moved(e, price), e.initialRate);
        e.totalMaxPayout = LibMoney.min(drawn, e.totalMaxPayout);
    }

    /// @notice Records a platform fee and the creator's loyalty share of it.
    function bookFee(HedgeEvent storage e, uint256 fee) internal {
        uint256 loyalty = LibMoney.feeDown(fee, e.rates.creatorLoyalty);
        e.creatorEarnings += loyalty;
        addPlatformFee(e.paymentToken, fee - loyalty);
    }

    /// @notice Reverts for a creation fee above a thousand whole tokens. The fee is the same raw amount for every
    /// payment token.
    function requireFeeCap(uint256 fee, address token) internal view {
        require(fee <= MAX_CREATION_FEE * LibToken.unit(token), Reasons.CREATION_FEE_TOO_HIGH);
    }

    function addPlatformFee(address token, uint256 amount) internal {
        Protocol storage p = LibStorage.protocol();
        p.platformFees[token] += amount;
        p.platformFeesTotal += amount;
    }
}

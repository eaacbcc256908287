// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The protocol's money equations. Every division rounds down; the pool keeps the remainder.
library LibMoney {
    uint256 internal constant RATE_ONE = 1e6;

    /// @return The share of `amount` at a 1e6 `rate`, rounded down.
    function feeDown(uint256 amount, uint256 rate) internal pure returns (uint256) {
        return (amount * rate) / RATE_ONE;
    }

    /// @return The largest move of the rate that pays: strike to cap, or strike to initial rate for a single-strike
    /// event.
    function width(uint256 strike, uint256 payoutCap, uint256 initialRate) internal pure returns (uint256) {
        return distance(strike, payoutCap == 0 ? initialRate : payoutCap);
    }

    /// @return The move into the payout zone at `rate`, 0 outside, `width` at and beyond the cap.
    function move(uint256 strike, uint256 payoutCap, uint256 initialRate, bool strikeAbove, uint256 rate)
        internal
        pure
        returns (uint256)
    {
        if (!triggered(strike, strikeAbove, rate)) return 0;
        if (payoutCap == 0) return distance(strike, initialRate);
        if (strikeAbove) return min(rate, payoutCap) - strike;
        return strike - max(rate, payoutCap);
    }

    /// @return True when `rate` lies in the payout zone, which includes the strike.
    function triggered(uint256 strike, bool strikeAbove, uint256 rate) internal pure returns (bool) {
        return strikeAbove ? rate >= strike : rate <= strike;
    }

    /// @return The payout for a move, in token units, rounded down.
    function payoutDown(uint256 notional, uint256 moved, uint256 initialRate) internal pure returns (uint256) {
        return (notional * moved) / initialRate;
    }

    function min(uint256 a, uint256 b) internal pure returns (uint256) {
        return a < b ? a : b;
    }

    function max(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a : b;
    }

    function distance(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a - b : b - a;
    }
}

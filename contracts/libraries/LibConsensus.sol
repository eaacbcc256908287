// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The agreeing rates and their median.
library LibConsensus {
    uint256 private constant BPS_ONE = 10_000;

    /// @notice The largest set of rates that are all within `toleranceBps` of each other, measured on the lowest; of
    /// several sets of that size, the tightest, and of those the lowest.
    /// @dev Quadratic in the number of oracles, which is at most ten.
    /// @return agreeing In ascending order.
    function largestAgreeing(uint256[] memory prices, uint256 toleranceBps)
        internal
        pure
        returns (uint256[] memory agreeing)
    {
        sort(prices);
        uint256 from;
        uint256 count;
        for (uint256 i; i < prices.length; i++) {
            uint256 j = i;
            while (j + 1 < prices.length && within(prices[i], prices[j + 1], toleranceBps)) j++;
            uint256 size = j - i + 1;
            bool tighter = size == count && prices[j] - prices[i] < prices[from + count - 1] - prices[from];
            if (size > count || tighter) (from, count) = (i, size);
        }
        agreeing = new uint256[](count);
        for (uint256 i; i < count; i++) agreeing[i] = prices[from + i];
    }

    /// @return The median of ascending rates; of an even number, the mean of the middle two, rounded down.
    function medianDown(uint256[] memory sorted) internal pure returns (uint256) {
        uint256 middle = sorted.length / 2;
        if (sorted.length % 2 == 1) return sorted[middle];
        return sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2;
    }

    function within(uint256 low, uint256 high, uint256 toleranceBps) private pure returns (bool) {
        // low * toleranceBps / 1e4, split into two terms, so that an extreme rate cannot overflow the comparison and
        // block an event.
        return high - low <= low / BPS_ONE * toleranceBps + (low % BPS_ONE) * toleranceBps / BPS_ONE;
    }

    function sort(uint256[] memory values) private pure {
        for (uint256 i = 1; i < values.length; i++) {
            uint256 value = values[i];
            uint256 j = i;
            for (; j > 0 && values[j - 1] > value; j--) values[j] = values[j - 1];
            values[j] = value;
        }
    }
}

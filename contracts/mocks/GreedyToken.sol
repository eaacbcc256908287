// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A contract that answers `balanceOf` as a token does, and misbehaves in all other calls in a configured way.
contract GreedyToken {
    enum Manner {
        BurnsGas,
        ReturnsMegabyte,
        RevertsWithMegabyte,
        ReturnsKilobytes,
        ReturnsNumber
    }

    uint256 private constant MEGABYTE = 2 ** 20;

    Manner private manner;

    function behave(Manner manner_) external {
        manner = manner_;
    }

    function balanceOf(address) external pure returns (uint256) {
        return 1;
    }

    fallback() external {
        Manner it = manner;
        if (it == Manner.ReturnsMegabyte) giveText(MEGABYTE);
        if (it == Manner.ReturnsKilobytes) giveText(2 ** 14);
        assembly {
            if eq(it, 2) { revert(0, MEGABYTE) }
            if eq(it, 4) {
                mstore(0, 7)
                return(0, 32)
            }
        }
        while (true) {}
    }

    /// @dev Ends the call and returns a text of zeros.
    function giveText(uint256 size) private pure {
        assembly {
            mstore(0, 32)
            mstore(32, size)
            return(0, add(64, size))
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {HedgeEvent} from "../libraries/LibStorage.sol";
import {IERC20} from "../libraries/LibToken.sol";

/// @title What the facets of the `deployed` profile share.
library LibDeployed {
    /// Of a seed, a deposit and a notional, in raw units whatever the token's decimals.
    uint256 internal constant MIN_AMOUNT = 10_000_000;

    error SafeERC20FailedOperation(address token);

    function free(HedgeEvent storage e) internal view returns (uint256) {
        return e.totalLiquidity - e.totalMaxPayout;
    }

    /// @notice Takes tokens from the caller; why a token refuses is the token's own to say.
    function pull(address token, uint256 amount) internal {
        if (!IERC20(token).transferFrom(msg.sender, address(this), amount)) revert SafeERC20FailedOperation(token);
    }
}

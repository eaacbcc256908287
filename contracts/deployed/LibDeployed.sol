// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {HedgeEvent} from "../libraries/LibStorage.sol";
import {IERC20} from "../libraries/LibToken.sol";

/// @title Shared code of the facets of the `deployed` profile.
library LibDeployed {
    /// Minimum seed, deposit and notional, in raw units for every token, whatever its decimals.
    uint256 internal constant MIN_AMOUNT = 10_000_000;
    uint256 internal constant SHARES_PER_UNIT = 1e12;
    bytes32 private constant SLOT = keccak256("fx.protection.deployed.storage");

    struct Layout {
        /// Time of an oracle's last rate for an event.
        mapping(uint256 => mapping(address => uint256)) lastSubmission;
    }

    error SafeERC20FailedOperation(address token);

    function store() internal pure returns (Layout storage l) {
        bytes32 slot = SLOT;
        assembly {
            l.slot := slot
        }
    }

    function free(HedgeEvent storage e) internal view returns (uint256) {
        return e.totalLiquidity - e.totalMaxPayout;
    }

    /// @notice Pulls tokens from the caller as SafeERC20 does: a token may return nothing, a token that returns false
    /// is rejected, and the reason of a token that reverts is passed on.
    function pull(address token, uint256 amount) internal {
        (bool ok, bytes memory answer) =
            token.call(abi.encodeCall(IERC20.transferFrom, (msg.sender, address(this), amount)));
        if (!ok) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        bool moved = answer.length == 0 ? token.code.length > 0 : abi.decode(answer, (uint256)) == 1;
        if (!moved) revert SafeERC20FailedOperation(token);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Reasons} from "./Reasons.sol";

interface IERC20 {
    function decimals() external view returns (uint8);
    function balanceOf(address account) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @title Moves payment tokens. A token that returns nothing succeeds; a token that returns false fails.
library LibToken {
    /// 10**36 multiplied by any amount stays far below 256 bits.
    uint256 private constant MAX_DECIMALS = 36;

    /// @return The raw amount of one whole token. Reverts for an address that returns no decimals.
    function unit(address token) internal view returns (uint256) {
        (bool ok, bytes memory answer) = token.staticcall(abi.encodeCall(IERC20.decimals, ()));
        uint256 decimals = ok && answer.length == 32 ? abi.decode(answer, (uint256)) : type(uint256).max;
        require(decimals <= MAX_DECIMALS, Reasons.BAD_TOKEN_DECIMALS);
        return 10 ** decimals;
    }

    /// @notice Pulls exactly `amount` from the caller. A token that delivers less (a fee on transfer) is rejected.
    function pull(address token, uint256 amount) internal {
        require(IERC20(token).allowance(msg.sender, address(this)) >= amount, Reasons.INSUFFICIENT_ALLOWANCE);
        require(IERC20(token).balanceOf(msg.sender) >= amount, Reasons.INSUFFICIENT_BALANCE);
        uint256 before = IERC20(token).balanceOf(address(this));
        invoke(token, abi.encodeCall(IERC20.transferFrom, (msg.sender, address(this), amount)));
        require(IERC20(token).balanceOf(address(this)) - before == amount, Reasons.TOKEN_TOOK_A_FEE);
    }

    function push(address token, address to, uint256 amount) internal {
        invoke(token, abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    function invoke(address token, bytes memory data) private {
        require(token.code.length > 0, Reasons.TOKEN_HAS_NO_CODE);
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), Reasons.TOKEN_TRANSFER_FAILED);
    }
}

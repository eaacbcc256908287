// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

interface IERC20 {
    function balanceOf(address account) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @title Moves payment tokens; tokens that answer nothing count as content, tokens that answer false do not.
library LibToken {
    /// @notice Takes exactly `amount` from the caller. A token that delivers less (a fee on transfer) is refused.
    function pull(address token, uint256 amount) internal {
        require(IERC20(token).allowance(msg.sender, address(this)) >= amount, "Insufficient allowance");
        require(IERC20(token).balanceOf(msg.sender) >= amount, "Insufficient balance");
        uint256 before = IERC20(token).balanceOf(address(this));
        invoke(token, abi.encodeCall(IERC20.transferFrom, (msg.sender, address(this), amount)));
        require(IERC20(token).balanceOf(address(this)) - before == amount, "Token took a fee");
    }

    function push(address token, address to, uint256 amount) internal {
        invoke(token, abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    function invoke(address token, bytes memory data) private {
        require(token.code.length > 0, "Token has no code");
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "Token transfer failed");
    }
}

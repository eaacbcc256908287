// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TestToken} from "./TestToken.sol";

/// @title A payment token that changes an allowance only from or to 0, as USDT on Ethereum does.
contract StrictToken is TestToken("Strict", "STR", 6) {
    function approve(address spender, uint256 value) public override returns (bool) {
        require(value == 0 || allowance[msg.sender][spender] == 0);
        return super.approve(spender, value);
    }
}

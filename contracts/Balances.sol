// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Coins, token balances and allowances of wallets in one call.
/// @notice Never deployed: the code is sent with each call. A token can neither make the call fail nor lengthen its
/// answer: it gets a limited amount of gas, and only the first word that it returns is read.
contract Balances {
    /// @dev Without the value when the token did not return a word.
    struct Amount {
        bool isKnown;
        uint256 value;
    }

    struct Holding {
        address wallet;
        address token;
    }

    /// @dev Enough for proxies and rebasing tokens, which take up to 150,000.
    uint256 private constant GAS = 300_000;

    /// @return coins native coins of the wallets
    /// @return balances balances of the holdings
    /// @return allowances allowances of the holdings for the spender
    function read(address spender, address[] calldata wallets, Holding[] calldata holdings)
        external
        view
        returns (uint256[] memory coins, Amount[] memory balances, Amount[] memory allowances)
    {
        coins = new uint256[](wallets.length);
        for (uint256 i = 0; i < wallets.length; i++) {
            coins[i] = wallets[i].balance;
        }
        balances = new Amount[](holdings.length);
        allowances = new Amount[](holdings.length);
        for (uint256 i = 0; i < holdings.length; i++) {
            (address wallet, address token) = (holdings[i].wallet, holdings[i].token);
            balances[i] = ask(token, abi.encodeWithSignature("balanceOf(address)", wallet));
            allowances[i] = ask(token, abi.encodeWithSignature("allowance(address,address)", wallet, spender));
        }
    }

    function ask(address token, bytes memory data) private view returns (Amount memory amount) {
        (bool isKnown, uint256 value) = (false, 0);
        assembly ("memory-safe") {
            isKnown := staticcall(GAS, token, add(data, 32), mload(data), 0, 32)
            // Without code or with a shorter answer there is no word to read.
            isKnown := and(isKnown, gt(returndatasize(), 31))
            if isKnown { value := mload(0) }
        }
        return Amount(isKnown, value);
    }
}

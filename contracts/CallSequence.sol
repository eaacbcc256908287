// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Runs calls one after the other and returns what each of them did. It is never deployed: an `eth_call` with a
/// state override places this code at an account, so that the called contracts see the account as their caller.
contract CallSequence {
    struct Call {
        address to;
        bytes data;
    }

    struct Result {
        bool ok;
        /// Gas of the call itself, before refunds: without the transaction's base cost and its calldata.
        uint256 gasUsed;
        /// What the call returned, or the data of its revert.
        bytes data;
    }

    function run(Call[] calldata calls) external returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i; i < calls.length; i++) {
            uint256 before = gasleft();
            (bool ok, bytes memory data) = calls[i].to.call(calls[i].data);
            results[i] = Result(ok, before - gasleft(), data);
        }
    }
}

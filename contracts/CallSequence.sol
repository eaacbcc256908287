// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Runs calls one after the other and returns what each of them did. It is never deployed: an `eth_call` with a
/// state override places this code at an account, so that the called contracts see the account as their caller.
contract CallSequence {
    struct Call {
        address to;
        /// The most gas that the call gets.
        uint256 gasLimit;
        bytes data;
    }

    struct Result {
        bool ok;
        /// Gas of the call itself, before refunds: without the transaction's base cost and its calldata.
        uint256 gasUsed;
        /// What the call returned, or the data of its revert.
        bytes data;
    }

    /// @dev Longer answers are cut: a called contract chooses their length.
    uint256 private constant MAX_DATA = 4_096;

    function run(Call[] calldata calls) external returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i; i < calls.length; i++) {
            results[i] = one(calls[i].to, calls[i].gasLimit, calls[i].data);
        }
    }

    function one(address to, uint256 gasLimit, bytes memory input) private returns (Result memory) {
        uint256 before = gasleft();
        bool ok;
        assembly ("memory-safe") {
            ok := call(gasLimit, to, 0, add(input, 32), mload(input), 0, 0)
        }
        uint256 gasUsed = before - gasleft();
        bytes memory data;
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, MAX_DATA) { size := MAX_DATA }
            data := mload(0x40)
            mstore(0x40, add(data, and(add(size, 63), not(31))))
            mstore(data, size)
            returndatacopy(add(data, 32), 0, size)
        }
        return Result(ok, gasUsed, data);
    }
}

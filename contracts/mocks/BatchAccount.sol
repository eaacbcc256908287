// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The code of an account that runs batches of its own (ERC-7821), for accounts that delegate to it (EIP-7702).
contract BatchAccount {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    /// One batch that reverts as a whole, without data of the operation.
    bytes32 private constant ATOMIC = bytes32(uint256(1) << 248);

    function execute(bytes32 mode, bytes calldata executionData) external payable {
        require(msg.sender == address(this), "Not the account");
        require(mode == ATOMIC, "Unsupported mode");
        Call[] memory calls = abi.decode(executionData, (Call[]));
        for (uint256 i; i < calls.length; i++) {
            (bool ok, bytes memory answer) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (!ok) {
                assembly {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }
}

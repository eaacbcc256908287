// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Reasons} from "./libraries/Reasons.sol";

/// @title Many views in one call.
/// @notice The one function of Multicall3 that reads need, for chains without it. Never deployed: the code is sent with
/// each call.
contract Aggregate {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call3[] calldata calls) external view returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, bytes memory returnData) = calls[i].target.staticcall(calls[i].callData);
            require(success || calls[i].allowFailure, Reasons.CALL_FAILED);
            results[i] = Result(success, returnData);
        }
    }
}

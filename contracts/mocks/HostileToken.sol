// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TestToken} from "./TestToken.sol";

/// @title A payment token that misbehaves on every transfer in a configured way.
contract HostileToken is TestToken("Hostile", "HST", 18) {
    enum Manner {
        Honest,
        TakesFee,
        SaysNo,
        SaysNothing,
        CallsBack
    }

    Manner public manner;
    address private target;
    bytes private data;
    /// The result of the callback.
    bytes public answer;

    function behave(Manner manner_, address target_, bytes calldata data_) external {
        (manner, target, data) = (manner_, target_, data_);
    }

    function move(address from, address to, uint256 value) internal override {
        if (manner == Manner.TakesFee) {
            super.move(from, address(this), 1);
            value -= 1;
        }
        if (manner == Manner.CallsBack) (, answer) = target.call(data);
        if (manner == Manner.SaysNo) giveZeros(32);
        super.move(from, to, value);
        if (manner == Manner.SaysNothing) giveZeros(0);
    }

    /// @dev Ends the call and returns zeros.
    function giveZeros(uint256 size) private pure {
        assembly {
            mstore(0, 0)
            return(0, size)
        }
    }
}

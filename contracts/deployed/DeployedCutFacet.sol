// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDiamondCut} from "../interfaces/IDiamondCut.sol";
import {LibDiamond} from "../libraries/LibDiamond.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title Cuts take effect immediately: there is no timelock and there are no proposals.
contract DeployedCutFacet is IDiamondCut {
    function diamondCut(FacetCut[] calldata _diamondCut, address _init, bytes calldata _calldata) external {
        require(msg.sender == LibDiamond.store().owner, Reasons.DEPLOYED_NOT_OWNER);
        LibDiamond.cut(_diamondCut, _init, _calldata);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Diamond} from "../Diamond.sol";
import {IDiamondCut} from "../interfaces/IDiamondCut.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title The `deployed` profile: the protocol of deployments that differ from the specification.
/// @dev Only the facets that differ are defined here; the others are those of the reference.
contract DeployedDiamond is Diamond {
    constructor(address owner, IDiamondCut.FacetCut[] memory cuts, address[] memory paymentTokens)
        Diamond(owner, cuts, paymentTokens)
    {}

    function missing() internal pure override returns (string memory) {
        return Reasons.DEPLOYED_FUNCTION_NOT_FOUND;
    }
}

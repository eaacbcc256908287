// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Diamond} from "../Diamond.sol";
import {IDiamondCut} from "../interfaces/IDiamondCut.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title The `deployed` profile: the protocol as deployments of this kind behave where they differ from the specification.
/// @dev One facet here for each that differs; the rest of the diamond is the reference's.
contract DeployedDiamond is Diamond {
    constructor(address owner, IDiamondCut.FacetCut[] memory cuts, address[] memory paymentTokens)
        Diamond(owner, cuts, paymentTokens)
    {}

    function missing() internal pure override returns (string memory) {
        return Reasons.DEPLOYED_FUNCTION_NOT_FOUND;
    }
}

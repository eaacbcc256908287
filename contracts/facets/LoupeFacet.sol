// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ILoupe} from "../interfaces/ILoupe.sol";
import {LibDiamond} from "../libraries/LibDiamond.sol";

/// @title The facets and functions of the diamond.
contract LoupeFacet is ILoupe {
    function facets() external view returns (Facet[] memory all) {
        LibDiamond.Layout storage l = LibDiamond.store();
        all = new Facet[](l.facets.length);
        for (uint256 i; i < all.length; i++) {
            all[i] = Facet(l.facets[i], l.selectorsOf[l.facets[i]].selectors);
        }
    }

    function facetFunctionSelectors(address _facet) external view returns (bytes4[] memory) {
        return LibDiamond.store().selectorsOf[_facet].selectors;
    }

    function facetAddresses() external view returns (address[] memory) {
        return LibDiamond.store().facets;
    }

    function facetAddress(bytes4 _functionSelector) external view returns (address) {
        return LibDiamond.store().places[_functionSelector].facet;
    }
}

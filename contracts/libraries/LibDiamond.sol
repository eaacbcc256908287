// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDiamondCut} from "../interfaces/IDiamondCut.sol";
import {IOwnership} from "../interfaces/IOwnership.sol";
import {Reasons} from "./Reasons.sol";

/// @title The storage of an EIP-2535 diamond's facets and owner, and the cuts that change it.
/// @dev The layout places the owner at slot +4 and the pending owner at +5 of the standard's storage position.
library LibDiamond {
    bytes32 internal constant POSITION = keccak256("diamond.standard.diamond.storage");

    struct FacetSelectors {
        bytes4[] selectors;
        uint256 index;
    }

    struct SelectorPlace {
        address facet;
        uint96 index;
    }

    struct Layout {
        mapping(bytes4 => SelectorPlace) places;
        mapping(address => FacetSelectors) selectorsOf;
        address[] facets;
        mapping(bytes4 => bool) reservedInterfaces;
        address owner;
        address pendingOwner;
    }

    function store() internal pure returns (Layout storage l) {
        bytes32 position = POSITION;
        assembly {
            l.slot := position
        }
    }

    function requireOwner() internal view {
        require(msg.sender == store().owner, Reasons.NOT_OWNER);
    }

    function setOwner(address next) internal {
        Layout storage l = store();
        emit IOwnership.OwnershipTransferred(l.owner, next);
        l.owner = next;
        l.pendingOwner = address(0);
    }

    /// @notice Reverts for a cut that could never be applied: without selectors, or with an address that has no code.
    function check(IDiamondCut.FacetCut[] memory cuts, address init) internal view {
        for (uint256 i; i < cuts.length; i++) {
            require(cuts[i].functionSelectors.length > 0, Reasons.NO_SELECTORS);
            address facet = cuts[i].facetAddress;
            if (cuts[i].action == IDiamondCut.FacetCutAction.Remove) {
                require(facet == address(0), Reasons.FACET_MUST_BE_ZERO);
            } else {
                require(facet.code.length > 0, Reasons.FACET_HAS_NO_CODE);
            }
        }
        require(init == address(0) || init.code.length > 0, Reasons.INIT_HAS_NO_CODE);
    }

    /// @dev Loops over the cut that the owner proposed; the owner must limit its size.
    function cut(IDiamondCut.FacetCut[] memory cuts, address init, bytes memory data) internal {
        check(cuts, init);
        for (uint256 i; i < cuts.length; i++) {
            bytes4[] memory selectors = cuts[i].functionSelectors;
            for (uint256 j; j < selectors.length; j++) apply_(cuts[i].facetAddress, cuts[i].action, selectors[j]);
        }
        emit IDiamondCut.DiamondCut(cuts, init, data);
        if (init == address(0)) return;
        (bool ok, bytes memory answer) = init.delegatecall(data);
        if (!ok) revertWith(answer, Reasons.INIT_REVERTED);
    }

    function apply_(address facet, IDiamondCut.FacetCutAction action, bytes4 selector) private {
        address old = store().places[selector].facet;
        if (action == IDiamondCut.FacetCutAction.Remove) {
            require(old != address(0), Reasons.FUNCTION_NOT_FOUND);
            detach(old, selector);
            return;
        }
        if (action == IDiamondCut.FacetCutAction.Add) {
            require(old == address(0), Reasons.FUNCTION_EXISTS);
        } else {
            require(old != address(0), Reasons.FUNCTION_NOT_FOUND);
            require(old != facet, Reasons.SAME_FUNCTION);
            detach(old, selector);
        }
        attach(facet, selector);
    }

    function attach(address facet, bytes4 selector) private {
        Layout storage l = store();
        FacetSelectors storage own = l.selectorsOf[facet];
        if (own.selectors.length == 0) {
            own.index = l.facets.length;
            l.facets.push(facet);
        }
        l.places[selector] = SelectorPlace(facet, uint96(own.selectors.length));
        own.selectors.push(selector);
    }

    function detach(address facet, bytes4 selector) private {
        Layout storage l = store();
        FacetSelectors storage own = l.selectorsOf[facet];
        uint256 index = l.places[selector].index;
        bytes4 last = own.selectors[own.selectors.length - 1];
        own.selectors[index] = last;
        l.places[last].index = uint96(index);
        own.selectors.pop();
        delete l.places[selector];
        if (own.selectors.length > 0) return;
        address lastFacet = l.facets[l.facets.length - 1];
        l.facets[own.index] = lastFacet;
        l.selectorsOf[lastFacet].index = own.index;
        l.facets.pop();
        delete l.selectorsOf[facet];
    }

    function revertWith(bytes memory answer, string memory otherwise) private pure {
        if (answer.length == 0) revert(otherwise);
        assembly {
            revert(add(answer, 32), mload(answer))
        }
    }
}

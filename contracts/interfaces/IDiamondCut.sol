// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Changing the facets of the diamond, behind a timelock.
interface IDiamondCut {
    enum FacetCutAction {
        Add,
        Replace,
        Remove
    }

    struct FacetCut {
        address facetAddress;
        FacetCutAction action;
        bytes4[] functionSelectors;
    }

    event DiamondCut(FacetCut[] _diamondCut, address _init, bytes _calldata);

    /// @notice Queues a cut; it can be executed 48 hours later. The proposal's id is in `CutProposed`. Its facets and
    /// initialiser must have code, now and when it is executed.
    function diamondCut(FacetCut[] calldata _diamondCut, address _init, bytes calldata _calldata) external;
}

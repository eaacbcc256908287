// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The functions of the diamond and the facets that hold them (EIP-2535).
interface ILoupe {
    struct Facet {
        address facetAddress;
        bytes4[] functionSelectors;
    }

    /// @return Every facet with the selectors it holds.
    function facets() external view returns (Facet[] memory);

    /// @return The selectors that a facet holds; empty for an unknown one.
    function facetFunctionSelectors(address _facet) external view returns (bytes4[] memory);

    /// @return Every facet that holds a function.
    function facetAddresses() external view returns (address[] memory);

    /// @return The facet that holds a function; zero when it is not mounted.
    function facetAddress(bytes4 _functionSelector) external view returns (address);
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Which functions the diamond has and which facets hold them (EIP-2535).
interface ILoupe {
    struct Facet {
        address facetAddress;
        bytes4[] functionSelectors;
    }

    function facets() external view returns (Facet[] memory);

    function facetFunctionSelectors(address _facet) external view returns (bytes4[] memory);

    function facetAddresses() external view returns (address[] memory);

    /// @return The facet that holds a function; zero when it is not mounted.
    function facetAddress(bytes4 _functionSelector) external view returns (address);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The arguments of `createEvent`, in the order of the ABI.
/// @dev Rates are 1e6, amounts in the payment token's own units.
struct CreateEventParams {
    string name;
    string underlying;
    uint256 strike;
    uint256 payoutCap;
    uint256 premiumRate;
    uint256 expiryDate;
    bool allowExternalLp;
    uint256 initialLiquidity;
    uint256 initialRate;
    bool strikeAbove;
    address paymentToken;
    bytes signature;
    uint256 quoteTimestamp;
    bytes32 quoteNonce;
}

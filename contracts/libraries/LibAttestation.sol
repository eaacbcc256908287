// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CreateEventParams} from "../interfaces/IHedgeTypes.sol";
import {LibStorage, Protocol} from "./LibStorage.sol";
import {Reasons} from "./Reasons.sol";

/// @title The pricing engine's signature over a quote: EIP-191 over the hash of twelve ABI-encoded values.
library LibAttestation {
    uint256 internal constant VALIDITY = 120;
    /// Half the order of secp256k1: a larger s is a second form of the same signature.
    uint256 private constant MAX_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    function digest(CreateEventParams calldata p, address creator) internal view returns (bytes32) {
        bytes32 inner = keccak256(
            abi.encode(
                block.chainid,
                address(this),
                creator,
                p.underlying,
                p.strike,
                p.payoutCap,
                p.premiumRate,
                p.expiryDate,
                p.initialRate,
                p.strikeAbove,
                p.quoteTimestamp,
                p.quoteNonce
            )
        );
        return keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", inner));
    }

    /// @notice Checks the quote's signature and marks its nonce as used. Without a signature the event is self-priced
    /// and nothing is checked. With a signature, every check must pass and a signer must be registered.
    /// @return The signer to record: zero for a self-priced event.
    function consume(CreateEventParams calldata p) internal returns (address) {
        Protocol storage s = LibStorage.protocol();
        address signer = s.pricingEngineSigner;
        if (p.signature.length == 0) return address(0);
        require(signer != address(0), Reasons.NO_PRICING_SIGNER);
        require(p.signature.length == 65, Reasons.BAD_SIGNATURE_LENGTH);
        require(p.quoteNonce != 0, Reasons.QUOTE_NONCE_REQUIRED);
        require(p.quoteTimestamp <= block.timestamp, Reasons.QUOTE_FROM_THE_FUTURE);
        require(block.timestamp <= p.quoteTimestamp + VALIDITY, Reasons.QUOTE_EXPIRED);
        require(!s.nonceUsed[p.quoteNonce], Reasons.QUOTE_NONCE_USED);
        require(recover(digest(p, msg.sender), p.signature) == signer, Reasons.BAD_QUOTE_SIGNATURE);
        s.nonceUsed[p.quoteNonce] = true;
        return signer;
    }

    function recover(bytes32 hash, bytes calldata signature) private pure returns (address) {
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        if (uint256(s) > MAX_S || (v != 27 && v != 28)) return address(0);
        return ecrecover(hash, v, r, s);
    }
}

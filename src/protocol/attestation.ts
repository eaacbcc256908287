import { type Address, encodeAbiParameters, type Hex, keccak256, parseAbiParameters } from 'viem'
import type { ChainId } from './chains.ts'

/**
 * The values that the pricing engine attests. The protocol checks them when an event is created with a signature. Rates
 * have scale 1e6.
 */
export type AttestedQuote = {
  readonly chainId: ChainId
  readonly diamond: Address
  /** The address that will send `createEvent`. */
  readonly creator: Address
  readonly underlying: string
  readonly strike: bigint
  readonly payoutCap: bigint
  readonly premiumRate: bigint
  /** Unix seconds. */
  readonly expiry: bigint
  /** Part of the attestation because it scales every payout. */
  readonly initialRate: bigint
  readonly strikeAbove: boolean
  /** Unix seconds. */
  readonly quoteTimestamp: bigint
  readonly quoteNonce: Hex
}

/** Seconds after `quoteTimestamp` in which the protocol accepts the quote, including the last one. */
export const QUOTE_VALIDITY_SECONDS = 120

const parameters = parseAbiParameters(
  'uint256, address, address, string, uint256, uint256, uint256, uint256, uint256, bool, uint256, bytes32',
)

/** The 32 bytes that are signed as a personal message (EIP-191): the hash of the twelve values, ABI-encoded. */
export const attestationMessage = (quote: AttestedQuote): Hex =>
  keccak256(
    encodeAbiParameters(parameters, [
      BigInt(quote.chainId),
      quote.diamond,
      quote.creator,
      quote.underlying,
      quote.strike,
      quote.payoutCap,
      quote.premiumRate,
      quote.expiry,
      quote.initialRate,
      quote.strikeAbove,
      quote.quoteTimestamp,
      quote.quoteNonce,
    ]),
  )

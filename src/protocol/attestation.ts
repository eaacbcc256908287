import { type Address, encodeAbiParameters, type Hex, keccak256, parseAbiParameters, recoverMessageAddress } from 'viem'
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

/** Half the order of secp256k1: a larger `s` is a second form of the same signature, which the protocol refuses. */
const MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** Who signed a quote with these 65 bytes; null for bytes that are no signature in the one form that is accepted. */
export const recoverAttester = async (quote: AttestedQuote, signature: Hex): Promise<Address | null> => {
  const [s, v] = [BigInt(`0x${signature.slice(66, 130)}`), Number(`0x${signature.slice(130)}`)]
  if (s > MAX_S || (v !== 27 && v !== 28)) return null
  return recoverMessageAddress({ message: { raw: attestationMessage(quote) }, signature }).catch(() => null)
}

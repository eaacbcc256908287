import { type Address, getAddress, type Hex, isAddressEqual, size, zeroAddress, zeroHash } from 'viem'
import { type AttestedQuote, QUOTE_VALIDITY_SECONDS, recoverAttester } from '../../protocol/attestation.ts'
import { type ProfileName, profiles } from '../../protocol/profiles.ts'

/** A signed quote, and what the protocol knows at `time`, in Unix seconds. */
export type SignedQuote = {
  readonly quote: AttestedQuote
  readonly signature: Hex
  readonly signer: Address
  readonly isNonceUsed: boolean
  readonly time: bigint
  readonly profile: ProfileName
}

/** Why the protocol would refuse a signed quote, as a code of the catalogue, in the order of its checks; null if not. */
export const refusalOfQuote = async (signed: SignedQuote): Promise<string | null> => {
  const { quote, signature, signer, isNonceUsed, time, profile } = signed
  const { quoteTimestamp, quoteNonce } = quote
  if (signer === zeroAddress) return profiles[profile].needsSigner ? 'no_pricing_signer' : null
  if (size(signature) !== 65) return 'bad_signature_length'
  if (quoteNonce === zeroHash) return 'quote_nonce_required'
  if (quoteTimestamp > time) return 'quote_from_the_future'
  if (time > quoteTimestamp + BigInt(QUOTE_VALIDITY_SECONDS)) return 'quote_expired'
  if (isNonceUsed) return 'quote_nonce_used'
  const by = await recoverAttester(quote, signature)
  return by !== null && isAddressEqual(by, getAddress(signer)) ? null : 'bad_quote_signature'
}

import { randomBytes } from 'node:crypto'
import { type Address, bytesToHex, type Hex, isHex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { OperatorError } from '../../lib/errors.ts'
import { type AttestedQuote, attestationMessage, QUOTE_VALIDITY_SECONDS } from '../../protocol/attestation.ts'
import { testKeys } from '../../protocol/test-keys.ts'
import type { Attestation } from '../messages.ts'

export type Attester = {
  readonly address: Address
  /** Signs the values under a fresh nonce. */
  sign(quote: Omit<AttestedQuote, 'quoteNonce'>): Promise<Attestation>
}

const KEY = /^0x[0-9a-fA-F]{64}$/

const isKey = (text: string): text is Hex => KEY.test(text) && isHex(text)

/** Throws an OperatorError that does not repeat the key. The library's own error does repeat it. */
const accountOf = (key: string): PrivateKeyAccount => {
  try {
    if (isKey(key)) return privateKeyToAccount(key)
  } catch {
    // The number is not a valid key of the curve; the error below reports it.
  }
  throw new OperatorError('the signing key is invalid: expected 0x and 64 hex digits, a valid secp256k1 private key')
}

const randomNonce = (): Hex => bytesToHex(randomBytes(32))

/** The attester keeps the key to itself: no property or method returns it. */
const createAttester = (key: string, makeNonce: () => Hex): Attester => {
  const account = accountOf(key)
  return {
    address: account.address,
    async sign(values) {
      const quote = { ...values, quoteNonce: makeNonce() }
      return {
        signature: await account.signMessage({ message: { raw: attestationMessage(quote) } }),
        quoteTimestamp: String(quote.quoteTimestamp),
        quoteNonce: quote.quoteNonce,
        signerAddress: account.address,
        expiresAt: String(quote.quoteTimestamp + BigInt(QUOTE_VALIDITY_SECONDS)),
      }
    },
  }
}

/**
 * The attester of a key; null without a key. Throws an OperatorError for an invalid key, and in production for a
 * publicly known test key, because anyone could forge a signature of that key.
 */
export const openAttester = (options: {
  readonly key: string | undefined
  readonly isProduction: boolean
  /** The nonce of each signature; random unless given. */
  readonly makeNonce?: () => Hex
}): Attester | null => {
  if (options.key === undefined) return null
  const attester = createAttester(options.key, options.makeNonce ?? randomNonce)
  if (options.isProduction && testKeys().some(({ address }) => address === attester.address)) {
    throw new OperatorError(
      `the signing key of ${attester.address} is a publicly known test key: with NODE_ENV=production set ENGINE_PRIVATE_KEY to a key of your own`,
    )
  }
  return attester
}

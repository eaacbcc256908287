import { randomBytes } from 'node:crypto'
import { type Address, bytesToHex, type Hex, isHex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { OperatorError } from '../lib/errors.ts'
import { type AttestedQuote, attestationMessage, QUOTE_VALIDITY_SECONDS } from '../protocol/attestation.ts'
import { testKeys } from '../protocol/test-keys.ts'
import type { Attestation } from './contract.ts'

export type Attester = {
  readonly address: Address
  /** Signs the values under a fresh nonce. */
  sign(quote: Omit<AttestedQuote, 'quoteNonce'>): Promise<Attestation>
}

const KEY = /^0x[0-9a-fA-F]{64}$/

const isKey = (text: string): text is Hex => KEY.test(text) && isHex(text)

/** Throws an OperatorError that does not repeat what it was given: the library's own does. */
const accountOf = (key: string): PrivateKeyAccount => {
  try {
    if (isKey(key)) return privateKeyToAccount(key)
  } catch {
    // A number that is no key of the curve: said below.
  }
  throw new OperatorError('the signing key is none: expected 0x and 64 hex digits, a number of the curve')
}

/** It holds the key, and nothing gives it out. */
const createAttester = (key: string): Attester => {
  const account = accountOf(key)
  return {
    address: account.address,
    async sign(values) {
      const quote = { ...values, quoteNonce: bytesToHex(randomBytes(32)) }
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
 * The attester of a key; null without one. Throws an OperatorError for what is no key, and in production for a key that everybody knows: whoever
 * signs with it signs for anybody.
 */
export const openAttester = (options: {
  readonly key: string | undefined
  readonly isProduction: boolean
}): Attester | null => {
  if (options.key === undefined) return null
  const attester = createAttester(options.key)
  if (options.isProduction && testKeys().some(({ address }) => address === attester.address)) {
    throw new OperatorError(
      `the signing key of ${attester.address} is a test key that everybody knows: with NODE_ENV=production give ENGINE_PRIVATE_KEY one of your own`,
    )
  }
  return attester
}

import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Address, bytesToHex, type Hex, isHex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { errorText, OperatorError } from '../lib/errors.ts'
import { type AttestedQuote, attestationMessage, QUOTE_VALIDITY_SECONDS } from '../protocol/attestation.ts'
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

const readKey = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`the signing key cannot be read: ${errorText(cause)}`, { cause })
  }
}

/** The attester of the configured key: given itself, or in a file. Null without either. Throws an OperatorError for both, or for no key. */
export const openAttester = async (options: {
  readonly key: string | undefined
  readonly keyFile: string | undefined
}): Promise<Attester | null> => {
  const { key, keyFile } = options
  if (key !== undefined && keyFile !== undefined)
    throw new OperatorError('the signing key is given twice: itself and in a file')
  if (keyFile !== undefined) return createAttester((await readKey(keyFile)).trim())
  return key === undefined ? null : createAttester(key)
}

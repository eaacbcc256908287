import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Address, bytesToHex, type Hex, isHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type AttestedQuote, attestationMessage, QUOTE_VALIDITY_SECONDS } from '../protocol/attestation.ts'
import type { Attestation } from './contract.ts'

export type Attester = {
  readonly address: Address
  /** Signs the values under a fresh nonce. */
  sign(quote: Omit<AttestedQuote, 'quoteNonce'>): Promise<Attestation>
}

const KEY = /^0x[0-9a-fA-F]{64}$/

const isKey = (text: string): text is Hex => KEY.test(text) && isHex(text)

/** The attester of a private key; it holds the key and nothing gives it out. Throws an Error that does not repeat what it was given. */
const createAttester = (key: string): Attester => {
  if (!isKey(key)) throw new Error('the signing key has to be 32 bytes of 0x hex')
  const account = privateKeyToAccount(key)
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

/** The attester of the configured key: given itself, or in a file. Null without either. Throws for both, an unreadable file or no key. */
export const openAttester = async (options: {
  readonly key: string | undefined
  readonly keyFile: string | undefined
}): Promise<Attester | null> => {
  const { key, keyFile } = options
  if (key !== undefined && keyFile !== undefined)
    throw new Error('the signing key is given twice, itself and in a file')
  if (keyFile !== undefined) return createAttester((await readFile(keyFile, 'utf8')).trim())
  return key === undefined ? null : createAttester(key)
}

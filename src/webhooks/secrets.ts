import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { OperatorError } from '../lib/errors.ts'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Length of a new secret in bytes; the standard allows 24 to 64. */
const SECRET_BYTES = 32

/** A new signing secret in the form of Standard Webhooks: `whsec_` and base64. */
export const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`

/** Encrypts and decrypts secrets. Each is bound to its endpoint: the text of another endpoint is not accepted. */
export type Vault = ReturnType<typeof createVault>

/**
 * Opens a vault with keys of 32 bytes: the first encrypts, all decrypt.
 *
 * @example
 * const vault = createVault([key])
 * vault.decrypt('we_1', vault.encrypt('we_1', 'whsec_…'))
 */
export const createVault = (keys: readonly [Buffer, ...Buffer[]]) => ({
  /** Returns base64 of IV, tag and ciphertext. */
  encrypt(endpoint: string, secret: string): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(CIPHER, keys[0], iv).setAAD(Buffer.from(endpoint))
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64')
  },
  /** Throws an OperatorError when no key fits. */
  decrypt(endpoint: string, stored: string): string {
    const bytes = Buffer.from(stored, 'base64')
    const iv = bytes.subarray(0, IV_BYTES)
    const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
    for (const key of keys) {
      try {
        const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(endpoint)).setAuthTag(tag)
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        // Another key may fit.
      }
    }
    throw new OperatorError(
      `the secret of ${endpoint} cannot be decrypted: add the key that it was stored with to WEBHOOKS_KEY`,
    )
  },
})

import { createHash, randomBytes } from 'node:crypto'

const KEY_BYTES = 32

/** A new key of an integrator: `fxk_` and 32 random bytes in base64url. */
export const newApiKey = (): string => `fxk_${randomBytes(KEY_BYTES).toString('base64url')}`

/** What is stored of a key: its SHA-256 in hex. A key has too many random bits to be guessed from a fast hash. */
export const hashApiKey = (key: string): string => createHash('sha256').update(key).digest('hex')

import { createHash } from 'node:crypto'
import { invalid } from '../lib/errors.ts'

const CHECK_BYTES = 9

const check = (filter: string, after: string): Buffer =>
  createHash('sha256').update(`${filter} after ${after}`).digest().subarray(0, CHECK_BYTES)

/**
 * An opaque cursor: the last id of a page, and a check that ties it to the list it came from. `filter` names that list.
 *
 * @example encodeCursor('/hedge/events/8453/1/positions', 50n)
 */
export const encodeCursor = (filter: string, after: bigint): string =>
  Buffer.concat([check(filter, after.toString()), Buffer.from(after.toString())]).toString('base64url')

/** The id to go on after. Throws `validation_error` for a damaged cursor and for one of another list. */
export const decodeCursor = (filter: string, cursor: string): bigint => {
  const bytes = Buffer.from(cursor, 'base64url')
  const after = bytes.subarray(CHECK_BYTES).toString()
  // Encoding again also refuses what the decoder lets pass, such as stray characters.
  if (/^\d{1,16}$/.test(after) && encodeCursor(filter, BigInt(after)) === cursor) return BigInt(after)
  const message = 'expected a cursor that this list gave'
  throw invalid(`cursor: ${message}`, [{ path: 'cursor', message }])
}

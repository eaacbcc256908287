import { createHash } from 'node:crypto'
import { invalid } from '../lib/errors.ts'

const CHECK_BYTES = 9

const check = (filter: string, after: string): Buffer =>
  createHash('sha256').update(`${filter} after ${after}`).digest().subarray(0, CHECK_BYTES)

/** An opaque cursor: where a page ended, as text, and a check that ties it to the list it came from. `filter` names that list. */
export const sealCursor = (filter: string, after: string): string =>
  Buffer.concat([check(filter, after), Buffer.from(after)]).toString('base64url')

/** The fault of a damaged cursor and of one of another list. */
export const foreignCursor = (): Error => {
  const message = 'expected a cursor that this list gave'
  return invalid(`cursor: ${message}`, [{ path: 'cursor', message }])
}

/** Longer than any cursor of ours: one of a list of both chains has up to 700 characters. */
const MAX_CURSOR = 1_024

/** What a cursor was made of. Throws `validation_error` for a damaged one and for one of another list. */
export const openCursor = (filter: string, cursor: string): string => {
  if (cursor.length > MAX_CURSOR) throw foreignCursor()
  const after = Buffer.from(cursor, 'base64url').subarray(CHECK_BYTES).toString()
  // Encoding again also refuses what the decoder lets pass, such as stray characters.
  if (sealCursor(filter, after) !== cursor) throw foreignCursor()
  return after
}

/**
 * The cursor of a list of ids: the last one of a page.
 *
 * @example encodeCursor('/hedge/events/8453/1/positions', 50n)
 */
export const encodeCursor = (filter: string, after: bigint): string => sealCursor(filter, after.toString())

/** The id to go on after. Throws as `openCursor` does. */
export const decodeCursor = (filter: string, cursor: string): bigint => {
  const after = openCursor(filter, cursor)
  if (!/^\d{1,16}$/.test(after)) throw foreignCursor()
  return BigInt(after)
}

import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { invalidField } from '../lib/errors.ts'
import { MAX_CHAINS } from '../protocol/chains.ts'

const CHECK_BYTES = 9

const check = (filter: string, after: string): Buffer =>
  createHash('sha256').update(`${filter} after ${after}`).digest().subarray(0, CHECK_BYTES)

/**
 * Makes an opaque cursor: the position at which a page ended, as text, and a checksum that ties it to its list.
 * `filter` names that list.
 */
export const sealCursor = (filter: string, after: string): string =>
  Buffer.concat([check(filter, after), Buffer.from(after)]).toString('base64url')

/** Longest accepted cursor, in characters. A cursor of a list has up to 350 for each of its chains. */
const MAX_CURSOR = 384 * MAX_CHAINS

/**
 * Parses the position in a cursor. Throws `validation_error` for a damaged cursor, one of another list, and a position
 * that `schema` rejects.
 */
export const openCursor = <S extends z.ZodType>(filter: string, cursor: string, schema: S): z.output<S> => {
  const after = cursor.length > MAX_CURSOR ? '' : Buffer.from(cursor, 'base64url').subarray(CHECK_BYTES).toString()
  // Encoding the position again also rejects what the decoder ignores, such as stray characters.
  const parsed = sealCursor(filter, after) === cursor ? schema.safeParse(after) : undefined
  // The checksum is not secret: a client may have sealed a position that the schema rejects.
  if (parsed?.success !== true) throw invalidField('cursor', 'expected `meta.nextCursor` of this list')
  return parsed.data
}

import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { StoredBlock } from '../db/stored.ts'
import { invalidField } from '../lib/errors.ts'
import { type ChainId, MAX_CHAINS } from '../protocol/chains.ts'

const CHECK_BYTES = 9

const check = (filter: string, after: string): Buffer =>
  createHash('sha256').update(`${filter} after ${after}`).digest().subarray(0, CHECK_BYTES)

/** Makes an opaque cursor: the position after a page, and a checksum that ties it to the list named by `filter`. */
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

/** The position of a paginated list in one chain's rows, and the block that bounds the list since its first page. */
export type ChainCursor = {
  readonly chainId: ChainId
  /** The last returned row of the chain; null while all returned rows are of other chains. */
  readonly after: { readonly id: bigint; readonly key: string } | null
  /** Rows created after this block are not in the list. */
  readonly bound: StoredBlock
  /** The chain's last rollback at the first page. */
  readonly rollback: bigint
}

/** An integer of at most 63 bits, like the ids and blocks of the index. */
const Whole = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt)
  .refine((value) => value < 2n ** 63n)

const Hash = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])

const json = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

const ChainCursors = z.array(
  z.tuple([z.int(), z.tuple([Whole, z.string().regex(/^\d{0,78}$/)]).nullable(), z.tuple([Whole, Hash, Whole]), Whole]),
)

/** Positions in each of these chains, in their order. */
const positionsIn = (chainIds: readonly ChainId[]) =>
  z.preprocess(
    json,
    ChainCursors.refine((positions) => positions.map(([chainId]) => chainId).join() === chainIds.join()),
  )

/** Makes the cursor of a list of rows. `filter` names the list: it has everything that selects and orders the rows. */
export const encodeCursor = (filter: string, cursors: readonly ChainCursor[]): string =>
  sealCursor(
    filter,
    JSON.stringify(
      cursors.map(({ chainId, after, bound, rollback }) => [
        chainId,
        after && [String(after.id), after.key],
        [String(bound.number), bound.hash, String(bound.timestamp)],
        String(rollback),
      ]),
    ),
  )

/**
 * Returns the positions at which to continue in the chains of the list, also with the mark that a cursor has in CSV when
 * a spreadsheet could take it as a formula. Throws as `openCursor` does.
 */
export const decodeCursor = (filter: string, chainIds: readonly ChainId[], cursor: string): ChainCursor[] =>
  openCursor(filter, cursor.replace(/^'/, ''), positionsIn(chainIds)).map(
    ([chainId, after, [number, hash, timestamp], rollback]) => ({
      chainId,
      after: after && { id: after[0], key: after[1] },
      bound: { number, hash, timestamp },
      rollback,
    }),
  )

import { z } from 'zod'
import type { StoredBlock } from '../db/stored.ts'
import { type ChainId, chainIds } from '../protocol/chains.ts'
import { foreignCursor, openCursor, sealCursor } from './cursor.ts'

/** Where the walk through a chain's rows is, and the bound it had from its first page on. */
export type Stage = {
  readonly chainId: ChainId
  /** The last row given; null as long as all rows came from other chains. */
  readonly after: { readonly id: bigint; readonly key: string } | null
  /** Rows created later are left out. */
  readonly bound: StoredBlock
  /** The chain's last rollback when the walk began. */
  readonly rollback: bigint
}

/** At most 63 bits, as the index has its ids and blocks. */
const Whole = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt)
  .refine((value) => value < 2n ** 63n)

const Hash = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])

const Stages = z
  .array(
    z.tuple([
      z.literal(chainIds),
      z.tuple([Whole, z.string().regex(/^\d{0,78}$/)]).nullable(),
      z.tuple([Whole, Hash, Whole]),
      Whole,
    ]),
  )
  .min(1)
  .max(chainIds.length)

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A cursor of a list of rows; `filter` names the list with everything that tells which rows are in it, and their order. */
export const encodeStages = (filter: string, stages: readonly Stage[]): string =>
  sealCursor(
    filter,
    JSON.stringify(
      stages.map(({ chainId, after, bound, rollback }) => [
        chainId,
        after && [String(after.id), after.key],
        [String(bound.number), bound.hash, String(bound.timestamp)],
        String(rollback),
      ]),
    ),
  )

/** Where to go on. Throws `validation_error` for a damaged cursor and for one of another list. */
export const decodeStages = (filter: string, cursor: string): Stage[] => {
  const parsed = Stages.safeParse(json(openCursor(filter, cursor)))
  // The check is no secret: whoever makes a cursor of their own is told the same as who damages one.
  if (!parsed.success) throw foreignCursor()
  return parsed.data.map(([chainId, after, [number, hash, timestamp], rollback]) => ({
    chainId,
    after: after && { id: after[0], key: after[1] },
    bound: { number, hash, timestamp },
    rollback,
  }))
}

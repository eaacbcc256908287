import { and, eq, gt, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { ChainId } from '../protocol/chains.ts'
import type { Handle } from './pool.ts'
import * as work from './schema-work.ts'
import type { StoredBlock } from './stored.ts'

/** JSON has no integers of 64 bits, so heights are kept as text. */
const Height = z.codec(z.string().regex(/^\d+$/), z.bigint(), { decode: BigInt, encode: String })

const Nodes = z.object({
  endpoints: z
    .array(
      z.object({
        index: z.int().nonnegative(),
        state: z.string(),
        height: Height.nullable(),
        // Rows of older versions have neither.
        timestamp: Height.nullable().optional(),
        heightAgeSeconds: z.number().nullable().optional(),
        width: Height,
        lacks: z.array(z.string()).readonly(),
        fault: z.string().nullable(),
      }),
    )
    .readonly(),
  halted: z.boolean(),
  hasLogs: z.boolean(),
})

/** What a process knows of a chain's endpoints, for people: as much of the chain's status as outlives the process. */
export type Nodes = z.output<typeof Nodes>

/** What the leader saw of a chain. */
export type Look = {
  /** The newest block; `timestamp` in Unix seconds. */
  readonly head: Pick<StoredBlock, 'number' | 'timestamp'>
  /** The last block at which the ids of index and chain were compared and found equal; null when that was never. */
  readonly proven: StoredBlock | null
  readonly source: 'logs' | 'ids'
  /** What keeps the index from being proved, in words; null when nothing does. */
  readonly trouble: string | null
  readonly nodes: Nodes
}

/** A look, when it was, and how long ago in seconds: by the clock of the database alone. */
export type DatedLook = Look & { readonly at: Date; readonly ageSeconds: number }

/**
 * Stores what the leader saw of a chain, as of now. `proven` null leaves the stored one: what was proved stays proved until it is rolled
 * back.
 */
export const saveLook = async (handle: Handle, chainId: ChainId, look: Look): Promise<void> => {
  const { head, proven, source, trouble, nodes } = look
  const row = {
    lookedAt: sql`now()`,
    headNumber: head.number,
    headTimestamp: head.timestamp,
    ...(proven && { provenNumber: proven.number, provenHash: proven.hash, provenTimestamp: proven.timestamp }),
    source,
    trouble,
    endpoints: z.encode(Nodes, nodes),
  }
  await handle
    .insert(work.looks)
    .values({ chainId, ...row })
    .onConflictDoUpdate({ target: work.looks.chainId, set: row })
}

/** Takes back what was proved of blocks above `number`: they left the chain. */
export const forgetProof = async (handle: Handle, chainId: ChainId, number: bigint): Promise<void> => {
  await handle
    .update(work.looks)
    .set({ provenNumber: null, provenHash: null, provenTimestamp: null })
    .where(and(eq(work.looks.chainId, chainId), gt(work.looks.provenNumber, number)))
}

/** The leader's last look at a chain; null before the first. */
export const readLook = async (handle: Handle, chainId: ChainId): Promise<DatedLook | null> => {
  const [found] = await handle
    .select({
      row: work.looks,
      age: sql`extract(epoch from clock_timestamp() - ${work.looks.lookedAt})`.mapWith(Number),
    })
    .from(work.looks)
    .where(eq(work.looks.chainId, chainId))
  if (found === undefined) return null
  const { row, age } = found
  const { provenNumber: number, provenHash: hash, provenTimestamp: timestamp } = row
  return {
    at: row.lookedAt,
    ageSeconds: age,
    head: { number: row.headNumber, timestamp: row.headTimestamp },
    proven: number === null || hash === null || timestamp === null ? null : { number, hash, timestamp },
    source: row.source === 'ids' ? 'ids' : 'logs',
    trouble: row.trouble,
    nodes: Nodes.parse(row.endpoints),
  }
}

import { and, eq, gt, sql } from 'drizzle-orm'
import { z } from 'zod'
import { isKnownTopic } from '../../../protocol/abi/logs.ts'
import type { RawLog } from '../../../protocol/abi/packed-log.ts'
import type { ChainId } from '../../../protocol/chains.ts'
import { CHANNEL } from '../../changes/channel.ts'
import { checkedHead, storedHeadOf } from '../../changes/stored-head.ts'
import type { Handle } from '../../pool.ts'
import { ageOf } from '../../schema/columns.ts'
import * as work from '../../schema/work.ts'
import type { StoredBlock } from '../../stored.ts'

/** JSON has no 64-bit integers, so heights are stored as text. */
const Height = z.codec(z.string().regex(/^\d+$/), z.bigint(), { decode: BigInt, encode: String })

const StoredEndpoint = z.object({
  index: z.int().nonnegative(),
  state: z.string(),
  height: Height.nullable(),
  // Rows of older versions lack both.
  timestamp: Height.nullable().optional(),
  heightAgeSeconds: z.number().nullable().optional(),
  width: Height,
  lacks: z.array(z.string()),
  fault: z.string().nullable(),
})

const EndpointStatus = z.object({
  index: z.int().nonnegative(),
  rank: z.string(),
  height: z.bigint().nullable(),
  timestamp: z.bigint().nullable().optional(),
  heightAgeSeconds: z.number().nullable().optional(),
  width: z.bigint(),
  missing: z.array(z.string()).readonly(),
  fault: z.string().nullable(),
})

/** Two fields are stored under the names of release 0.1.0, because its processes read them too. */
const Endpoint = z.codec(StoredEndpoint, EndpointStatus, {
  decode: ({ state: rank, lacks: missing, ...rest }) => ({ ...rest, rank, missing }),
  encode: ({ rank: state, missing, ...rest }) => ({ ...rest, state, lacks: [...missing] }),
})

const NodeStatus = z.object({
  endpoints: z.array(Endpoint).readonly(),
  halted: z.boolean(),
  hasLogs: z.boolean(),
})

/** The status of a chain's endpoints in one process, for operators: the part that is useful after it has ended. */
export type NodeStatus = z.output<typeof NodeStatus>

/** The jobs belong to no chain, but the leader of each knows whether they run. Builds that do not know them leave them out. */
const Report = NodeStatus.extend({ jobsFault: z.string().nullable().prefault(null) })

/** The leader's report on a chain. */
export type Heartbeat = {
  /** The newest block. */
  readonly head: StoredBlock
  /** Whether no log of the protocol lies between the cursor and the head. */
  readonly isQuiet: boolean
  /** The last block at which the ids of the index and of the chain were compared and equal; null before the first. */
  readonly proven: StoredBlock | null
  readonly source: 'logs' | 'ids'
  /** A sentence about the problem that prevents a proof of the index; null when there is none. */
  readonly problem: string | null
  /** Why the queue of jobs fails; null, which is the default, while it works. */
  readonly jobsFault?: string | null
  readonly nodes: NodeStatus
}

/**
 * Stores the leader's report as of now, and notifies processes that read at the head. A null `proven` keeps the stored
 * proof until a rollback deletes it.
 */
export const saveHeartbeat = async (handle: Handle, chainId: ChainId, heartbeat: Heartbeat): Promise<void> => {
  const { head, isQuiet, proven, source, problem, jobsFault = null, nodes } = heartbeat
  const row = {
    reportedAt: sql`now()`,
    headNumber: head.number,
    headTimestamp: head.timestamp,
    checkedNumber: head.number,
    headHash: head.hash,
    isQuiet,
    ...(proven && { provenNumber: proven.number, provenHash: proven.hash, provenTimestamp: proven.timestamp }),
    source,
    problem,
    endpoints: z.encode(Report, { ...nodes, jobsFault }),
  }
  await handle
    .insert(work.heartbeats)
    .values({ chainId, ...row })
    .onConflictDoUpdate({ target: work.heartbeats.chainId, set: row })
  await handle.execute(sql`SELECT pg_notify(${CHANNEL}, '')`)
}

/** Stores why the leader cannot report now. The time of its last report stays. */
export const saveProblem = async (handle: Handle, chainId: ChainId, problem: string): Promise<void> => {
  await handle.update(work.heartbeats).set({ problem }).where(eq(work.heartbeats.chainId, chainId))
}

/** Counts logs that this build does not know. The newest one is kept for operators, without a first topic that it knows. */
export const noteUnknownLogs = async (
  handle: Handle,
  chainId: ChainId,
  logs: readonly Pick<RawLog, 'topics' | 'blockNumber'>[],
): Promise<void> => {
  const newest = logs.at(-1)
  if (newest === undefined) return
  const { unknownLogs } = work.heartbeats
  const { topics, blockNumber } = newest
  const many = sql`${unknownLogs} + ${logs.length}`
  const set = {
    unknownLogs: many,
    unknownTopic: isKnownTopic(topics[0]) ? null : (topics[0] ?? null),
    unknownBlock: blockNumber,
  }
  await handle.update(work.heartbeats).set(set).where(eq(work.heartbeats.chainId, chainId))
}

/** Deletes the proof of a block above `number`, which a reorg removed. */
export const deleteProof = async (handle: Handle, chainId: ChainId, number: bigint): Promise<void> => {
  await handle
    .update(work.heartbeats)
    .set({ provenNumber: null, provenHash: null, provenTimestamp: null })
    .where(and(eq(work.heartbeats.chainId, chainId), gt(work.heartbeats.provenNumber, number)))
}

/** The leader's last report on a chain, with its time and its age (by the database's clock); null before the first. */
export const readHeartbeat = async (handle: Handle, chainId: ChainId) => {
  const [found] = await handle
    .select({ row: work.heartbeats, ageSeconds: ageOf(work.heartbeats.reportedAt) })
    .from(work.heartbeats)
    .where(eq(work.heartbeats.chainId, chainId))
  if (found === undefined) return null
  const { row, ageSeconds } = found
  const { provenNumber: number, provenHash: hash, provenTimestamp: timestamp } = row
  const { jobsFault, ...nodes } = Report.parse(row.endpoints)
  const heartbeat: Omit<Heartbeat, 'head'> & { readonly head: Pick<StoredBlock, 'number' | 'timestamp'> } = {
    head: { number: row.headNumber, timestamp: row.headTimestamp },
    isQuiet: row.isQuiet && row.checkedNumber === row.headNumber,
    proven: number === null || hash === null || timestamp === null ? null : { number, hash, timestamp },
    source: row.source,
    problem: row.problem,
    jobsFault,
    nodes,
  }
  const { unknownLogs: many, unknownTopic: topic, unknownBlock: block } = row
  /** The newest log that no build knew, whose topic is null without one, and how many there were; null for none. */
  const unknownLogs = block === null ? null : { many, topic, block }
  return { ...heartbeat, unknownLogs, at: row.reportedAt, ageSeconds }
}

type UnknownLogs = NonNullable<Awaited<ReturnType<typeof readHeartbeat>>>['unknownLogs']

/** The unknown logs of a heartbeat, unless this build knows the newest of them; null without any. */
export const stillUnknown = (logs: UnknownLogs | undefined): UnknownLogs =>
  logs == null || isKnownTopic(logs.topic ?? undefined) ? null : logs

/** The head that the leader has stored; null before the first, and by a build that stores no hash. */
export const readStoredHead = async (handle: Handle, chainId: ChainId) => {
  const [row] = await handle.select(checkedHead).from(work.heartbeats).where(eq(work.heartbeats.chainId, chainId))
  return row === undefined ? null : storedHeadOf(row)
}

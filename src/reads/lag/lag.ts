import type { Reached } from '../../db/changes/changes.ts'
import type { IndexHealth } from '../../db/index/health.ts'
import type { Tip } from '../../db/queries/tips.ts'
import { WORKER_SILENT_SECONDS } from './thresholds.ts'

/** A block by its time, in Unix seconds. */
type Dated = { readonly timestamp: bigint }

/** The newest known block of a chain, and how long ago it was read from the chain, in seconds. */
type KnownHead = Dated & { readonly ageSeconds: number }

/** How far a block is behind another one, in seconds of the chain; 0 when it is not behind. */
export const secondsBehind = (block: Dated, head: Dated): number =>
  Math.max(0, Number(head.timestamp - block.timestamp))

/**
 * How far an index is behind its chain, in seconds: the difference of the times of both blocks. The chain has moved on
 * since a head was read, so the age of a head is added when the worker is silent. Smaller ages are the normal distance
 * of two heartbeats and are left out.
 */
export const lagSecondsOf = (indexed: Dated, head: KnownHead): number =>
  secondsBehind(indexed, head) + (head.ageSeconds > WORKER_SILENT_SECONDS ? Math.floor(head.ageSeconds) : 0)

/** The lag of the index that a page was read from; null before the worker's first heartbeat. */
export const lagOfTip = ({ block, head }: Pick<Tip, 'block' | 'head'>): number | null =>
  head && lagSecondsOf(block, head)

/** The lag of the index as of the newest known commit; null before the worker's first heartbeat. */
export const lagOfReached = ({ block, heartbeat }: Reached): number | null =>
  heartbeat && lagSecondsOf(block, { timestamp: heartbeat.headTimestamp, ageSeconds: heartbeat.ageSeconds })

/** The lag of the index by its health; null before its first block or the worker's first heartbeat. */
export const lagOfHealth = ({ indexed, heartbeat }: Pick<IndexHealth, 'indexed' | 'heartbeat'>): number | null =>
  indexed &&
  heartbeat &&
  lagSecondsOf(indexed, { timestamp: heartbeat.head.timestamp, ageSeconds: heartbeat.ageSeconds })

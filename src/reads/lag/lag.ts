import type { Reached } from '../../db/changes/changes.ts'
import type { IndexHealth } from '../../db/index/health.ts'
import type { Tip } from '../../db/queries/tips.ts'

/*
 * How far the index is behind, and when the API treats the index, a worker or an endpoint as too old. Every limit on
 * silence or lag in `reads` is here, except `MAX_LAG_SECONDS`, which operators set: the largest lag of an index that is
 * still ready and still answers as the preferred source.
 */

/**
 * Age of a heartbeat, in seconds, from which the worker counts as silent: the index is not ready, its state is `stuck`,
 * and the silence counts as lag. A worker polls every few seconds at least, so a silent one has stopped or reaches no node.
 */
export const WORKER_SILENT_SECONDS = 10

/** Largest heartbeat age in seconds, and lag in seconds of the chain, at which cached responses may be served. */
const CACHE_MAX_HEARTBEAT_AGE_SECONDS = 6
const CACHE_MAX_LAG_SECONDS = 5

/**
 * Age of what this process knows of the index, in milliseconds, up to which cached responses may be served. A process
 * that was suspended must not answer from before. The notification listener polls more often than this.
 */
export const CACHE_MAX_KNOWLEDGE_AGE_MS = 2_000

/** How far an endpoint that is not `lagging` may be behind the newest known block, in seconds of the chain. */
export const ENDPOINT_LAGGING_SECONDS = 5n

/** Seconds without a proof of the index, or of an entity in the refresh queue, after which there is an alarm. */
export const ALARM_AFTER_SECONDS = 60

/** How long the alarm about a difference that the audit found stays, in seconds. */
export const ALARM_OF_DIFFERENCE_SECONDS = 3_600

/** A block by its time, in Unix seconds. */
type Dated = { readonly timestamp: bigint }

/** How far a block is behind another one, in seconds of the chain; 0 when it is not behind. */
export const secondsBehind = (block: Dated, head: Dated): number =>
  Math.max(0, Number(head.timestamp - block.timestamp))

/** What the worker last saw of a chain: its head, whether anything is left to index up to it, and how long ago. */
type Seen = { readonly head: Dated; readonly isQuiet: boolean; readonly ageSeconds: number }

/**
 * How far an index is behind its chain, in seconds: the difference of the times of both blocks, or 0 when there is
 * nothing to index between them. The chain has moved on since a head was read, so the age of a head is added when the
 * worker is silent. Smaller ages are the normal distance of two heartbeats and are left out.
 */
const lagSecondsOf = (indexed: Dated, { head, isQuiet, ageSeconds }: Seen): number =>
  (isQuiet ? 0 : secondsBehind(indexed, head)) + (ageSeconds > WORKER_SILENT_SECONDS ? Math.floor(ageSeconds) : 0)

/** The lag of the index that a page was read from; null before the worker's first heartbeat. */
export const lagOfTip = ({ block, head }: Pick<Tip, 'block' | 'head'>): number | null =>
  head && lagSecondsOf(block, { head, ...head })

/** The lag of the index as of the newest known commit; null before the worker's first heartbeat. */
export const lagOfReached = ({ block, heartbeat }: Reached): number | null =>
  heartbeat && lagSecondsOf(block, heartbeat)

/** The lag of the index by its health; null before its first block or the worker's first heartbeat. */
export const lagOfHealth = ({ indexed, heartbeat }: Pick<IndexHealth, 'indexed' | 'heartbeat'>): number | null =>
  indexed && heartbeat && lagSecondsOf(indexed, heartbeat)

/** Whether the index is near the head and the worker's last heartbeat is recent, so cached responses may be served. */
export const isNearHead = (progress: Reached): boolean =>
  (lagOfReached(progress) ?? Infinity) <= CACHE_MAX_LAG_SECONDS &&
  (progress.heartbeat?.ageSeconds ?? Infinity) <= CACHE_MAX_HEARTBEAT_AGE_SECONDS

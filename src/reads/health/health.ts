import type { IndexHealth } from '../../db/index/health.ts'
import { unavailable } from '../../lib/errors.ts'
import { type ChainId, type Deployment, startBlockFault } from '../../protocol/chains.ts'
import { laggingIndex } from '../freshness/indexed-block.ts'
import { lagOfHealth, secondsBehind } from '../lag/lag.ts'
import { WORKER_SILENT_SECONDS } from '../lag/thresholds.ts'
import type { Chains } from '../read.ts'

/** The sources of the health of indexes. */
export type HealthSources = {
  readonly chains: Chains
  /** Reads the health of a chain's index. Throws `service_unavailable` when the database is out of reach. */
  readonly healthOf: (chainId: ChainId) => Promise<IndexHealth>
  /** The largest lag of an index that is ready, in seconds. */
  readonly maxLagSeconds: number
}

/**
 * Whether the worker's last heartbeat is recent. Its age is measured by the database's clock, since block times may run
 * fast or slow.
 */
export const isWorkerAlive = ({ heartbeat }: Pick<IndexHealth, 'heartbeat'>): boolean =>
  heartbeat !== null && heartbeat.ageSeconds <= WORKER_SILENT_SECONDS

/**
 * How far the head is ahead of the last block at which the index was proved equal to the chain, in seconds of the
 * chain; null without such a block.
 */
export const provenAgeOf = ({ heartbeat }: Pick<IndexHealth, 'heartbeat'>): number | null =>
  heartbeat?.proven ? secondsBehind(heartbeat.proven, heartbeat.head) : null

/**
 * Returns the newest indexed block and the lag of an index that is ready. Throws `service_unavailable` with the reason
 * when it is not ready.
 */
export const readiness = (
  deployment: Pick<Deployment, 'chainId' | 'startBlock'>,
  health: Pick<IndexHealth, 'indexed' | 'heartbeat'>,
  maxLagSeconds: number,
): { readonly indexedBlock: bigint; readonly lagSeconds: number } => {
  const { chainId } = deployment
  const { indexed, heartbeat } = health
  const lagSeconds = lagOfHealth(health)
  if (heartbeat === null) throw unavailable(`the worker has not reached chain ${chainId} yet`)
  if (!isWorkerAlive(health)) {
    throw unavailable(`the worker has not reached chain ${chainId} for ${Math.floor(heartbeat.ageSeconds)} s`)
  }
  if (indexed === null || lagSeconds === null)
    throw unavailable(startBlockFault(deployment, heartbeat.head.number) ?? `chain ${chainId} is not indexed yet`)
  if (lagSeconds > maxLagSeconds) throw laggingIndex(chainId, lagSeconds)
  return { indexedBlock: indexed.number, lagSeconds }
}

/** The states of a chain's index; `unknown` while the database is out of reach. */
export const states = ['following', 'catching up', 'stuck', 'halted', 'unknown'] as const

export type State = (typeof states)[number]

/** The state of a chain's index. `maxLagSeconds` is the largest lag of an index that is `following`. */
export const stateOf = (health: IndexHealth | null, maxLagSeconds: number): State => {
  if (health === null) return 'unknown'
  const { heartbeat } = health
  if (heartbeat === null || !isWorkerAlive(health)) return 'stuck'
  const lag = lagOfHealth(health)
  if (heartbeat.nodes.halted && lag === 0) return 'halted'
  if (heartbeat.problem !== null) return 'stuck'
  return lag === null || lag > maxLagSeconds ? 'catching up' : 'following'
}

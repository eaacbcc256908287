import type { IndexHealth } from '../../db/index/health.ts'
import { stillUnknown } from '../../db/index/work/heartbeat.ts'
import { adviceOf } from '../../db/refusals.ts'
import { unavailable } from '../../lib/errors.ts'
import { type ChainId, type Deployment, startBlockFault } from '../../protocol/chains.ts'
import { laggingIndex } from '../freshness/freshness.ts'
import {
  ALARM_AFTER_SECONDS,
  ALARM_OF_DIFFERENCE_SECONDS,
  lagOfHealth,
  secondsBehind,
  WORKER_SILENT_SECONDS,
} from '../lag/lag.ts'
import { type Chains, chainOf } from '../read.ts'
import type { CheckResult } from './checks.ts'

/** The sources of the health of indexes. */
export type HealthSources = {
  readonly chains: Chains
  /** Reads the health of a chain's index. Throws `service_unavailable` when the database is out of reach. */
  readonly healthOf: (chainId: ChainId) => Promise<IndexHealth>
  /** The largest lag of an index that is ready, in seconds. */
  readonly maxLagSeconds: number
}

/** Logs that are missing for longer than this, in seconds, raise an alarm. Absent logs do not: that is decided earlier. */
const ALARM_OF_GAP_SECONDS = 900

/** Whether the worker's last heartbeat is recent by the database's clock, since block times may run fast or slow. */
const isWorkerAlive = ({ heartbeat }: Pick<IndexHealth, 'heartbeat'>): boolean =>
  heartbeat !== null && heartbeat.ageSeconds <= WORKER_SILENT_SECONDS

/** The nodes as the worker sees them; null while it is silent. */
export const seenNodesOf = (health: Pick<IndexHealth, 'heartbeat'>) =>
  isWorkerAlive(health) ? (health.heartbeat?.nodes ?? null) : null

/** How far the head is ahead of the last block that was proved, in seconds of the chain; null without such a block. */
export const provenAgeOf = ({ heartbeat }: Pick<IndexHealth, 'heartbeat'>): number | null =>
  heartbeat?.proven ? secondsBehind(heartbeat.proven, heartbeat.head) : null

/** Returns an index's newest block and lag. Throws `service_unavailable` with the reason when it is not ready. */
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

/** The readiness of a configured chain's index. */
export const readinessOf = async (sources: HealthSources, chainId: ChainId): Promise<ReturnType<typeof readiness>> => {
  const { deployment } = chainOf(sources.chains, chainId)
  return readiness(deployment, await sources.healthOf(chainId), sources.maxLagSeconds)
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

type ChainHealth = { readonly chainId: ChainId; readonly health: IndexHealth; readonly state: State }

/** The alarms, most important first: each a sentence with the problem and the remedy, or null without a problem. */
const alarms: readonly ((chain: ChainHealth) => string | null)[] = [
  ({ chainId, health }) => {
    if (isWorkerAlive(health)) return null
    const since = health.heartbeat === null ? 'yet' : `for ${Math.floor(health.heartbeat.ageSeconds)} s`
    return `The worker has not reached chain ${chainId} ${since}: check that a worker runs and that a node of RPC_URLS_${chainId} answers it.`
  },
  ({ chainId, health, state }) =>
    state === 'halted'
      ? `Chain ${chainId} is halted at block ${health.heartbeat?.head.number}: all nodes report the same old block. Wait for the chain to continue.`
      : null,
  ({ chainId, health: { heartbeat } }) =>
    heartbeat?.problem == null
      ? null
      : `The index of chain ${chainId} is not proved: ${heartbeat.problem}. If this persists, add a node of another provider to RPC_URLS_${chainId}.`,
  ({ chainId, health: { heartbeat } }) =>
    heartbeat?.jobsFault == null
      ? null
      : `The jobs of chain ${chainId} do not run, because Redis fails: ${heartbeat.jobsFault}. Check REDIS_URL of the worker, and the log of Redis.`,
  ({ chainId, health: { audit } }) =>
    audit?.last && audit.last.ageSeconds < ALARM_OF_DIFFERENCE_SECONDS
      ? `The audit of chain ${chainId} found a difference ${Math.floor(audit.last.ageSeconds)} s ago: ${audit.last.difference}. Run the audit command, and find the node that left it out.`
      : null,
  ({ chainId, health: { feesContradiction } }) =>
    feesContradiction === null
      ? null
      : `The fee rates of chain ${chainId} contradict its logs, so fees of claims are null: ${feesContradiction}. Run the audit command, and find the transaction that changed the rates without a log.`,
  ({ chainId, health: { heartbeat } }) => {
    const unknown = stillUnknown(heartbeat?.unknownLogs)
    return (
      unknown &&
      `The diamond of chain ${chainId} emits logs that this release does not know, such as ${unknown.topic ?? 'one with other topics'} in block ${unknown.block}: install the release for its upgrade. Until then, what these logs may name is read again.`
    )
  },
  ({ chainId, health, state }) => {
    const age = provenAgeOf(health)
    const isLate = age === null ? state === 'following' : age > ALARM_AFTER_SECONDS
    if (!isLate || state === 'halted') return null
    const since = age === null ? 'No block' : `No block of the last ${age} s`
    return `${since} of chain ${chainId} is proved equal to its index: check the worker's log, and whether its nodes keep up with the chain.`
  },
  ({ chainId, health: { observations } }) =>
    (observations.oldestSeconds ?? 0) > ALARM_AFTER_SECONDS
      ? `${observations.waiting} entities of chain ${chainId} wait to be refreshed, the oldest for ${Math.floor(observations.oldestSeconds ?? 0)} s: check that REDIS_URL is in reach and that the nodes answer reads.`
      : null,
  ({ chainId, health: { heartbeat, withoutLog } }) =>
    (withoutLog.oldestSeconds ?? 0) > ALARM_OF_GAP_SECONDS && withoutLog.pending > 0 && heartbeat?.nodes.hasLogs
      ? `${withoutLog.pending} rows of chain ${chainId} lack their transaction, because nodes have left out logs for ${Math.floor(withoutLog.oldestSeconds ?? 0)} s: add a node of another provider to RPC_URLS_${chainId}.`
      : null,
  ({ chainId, health: { heartbeat } }) =>
    heartbeat === null || heartbeat.nodes.hasLogs
      ? null
      : `No node of chain ${chainId} serves logs, so entities are read one by one: add a node with logs to RPC_URLS_${chainId}.`,
]

/** The problems of a chain and its index, each with its remedy; empty when there are none. */
export const alarmsOf = (chain: {
  readonly chainId: ChainId
  readonly health: IndexHealth | null
  /** The error when the health cannot be read. */
  readonly fault?: unknown
  readonly state: State
  readonly checks: readonly CheckResult[]
}): string[] => {
  const { health, checks } = chain
  const faults = checks.flatMap(({ fault }) => fault ?? [])
  if (health !== null) return [...alarms.flatMap((alarm) => alarm({ ...chain, health }) ?? []), ...faults]
  const advice = adviceOf(chain.fault)
  return [`The database is out of reach: ${advice}. Until then, entities are read from the chain.`, ...faults]
}

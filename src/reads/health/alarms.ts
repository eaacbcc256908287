import type { IndexHealth } from '../../db/index/health.ts'
import { adviceOf } from '../../db/refusals.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { ALARM_AFTER_SECONDS, ALARM_OF_DIFFERENCE_SECONDS } from '../lag/thresholds.ts'
import type { CheckResult } from './checks.ts'
import { isWorkerAlive, provenAgeOf, type State } from './health.ts'

const outOfReach = (fault: unknown): string =>
  `The database is out of reach: ${adviceOf(fault)}. Until then, entities are read from the chain.`

type ChainHealth = { readonly chainId: ChainId; readonly health: IndexHealth; readonly state: State }

/**
 * The alarms, most important first. Each is a sentence with the problem and the remedy, or null when there is no
 * problem.
 */
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
  ({ chainId, health: { audit } }) =>
    audit?.last && audit.last.ageSeconds < ALARM_OF_DIFFERENCE_SECONDS
      ? `The audit of chain ${chainId} found a difference ${Math.floor(audit.last.ageSeconds)} s ago: ${audit.last.difference}. Run the audit command, and find the node that left it out.`
      : null,
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
  if (health === null) return [outOfReach(chain.fault), ...faults]
  return [...alarms.flatMap((alarm) => alarm({ ...chain, health }) ?? []), ...faults]
}

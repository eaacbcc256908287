import { adviceOf } from '../db/refusals.ts'
import type { Vitals } from '../db/vitals.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Checked } from './checks.ts'
import { isWatched, provenAgeOf, type State } from './vitals.ts'

const outOfReach = (fault: unknown): string =>
  `The database is out of reach: ${adviceOf(fault)}. Entities are read from the chain meanwhile.`

/** A minute without proof, and a minute of waiting for an observation, is more than a loaded system needs; in seconds. */
const LATE_SECONDS = 60

/** A difference is news for so long, in seconds. */
const RECENT_SECONDS = 3_600

type Seen = { readonly chainId: ChainId; readonly vitals: Vitals; readonly state: State }

/** What may be wrong, in the order of how much it matters: a sentence that says so and what to do, or null. */
const alarms: readonly ((seen: Seen) => string | null)[] = [
  ({ chainId, vitals }) => {
    if (isWatched(vitals)) return null
    const since = vitals.look === null ? 'yet' : `for ${Math.floor(vitals.look.ageSeconds)} s`
    return `The worker has not reached chain ${chainId} ${since}: see that a worker runs and that a node of RPC_URLS_${chainId} answers it.`
  },
  ({ chainId, vitals, state }) =>
    state === 'halted'
      ? `Chain ${chainId} stands still at block ${vitals.look?.head.number}: all nodes show the same old block. Wait for the chain.`
      : null,
  ({ chainId, vitals: { look } }) =>
    look?.trouble == null
      ? null
      : `The index of chain ${chainId} is not proved: ${look.trouble}. If that stays, add another provider's node to RPC_URLS_${chainId}.`,
  ({ chainId, vitals: { audit } }) =>
    audit?.last && audit.last.ageSeconds < RECENT_SECONDS
      ? `The audit of chain ${chainId} found a difference ${Math.floor(audit.last.ageSeconds)} s ago: ${audit.last.difference}. Run the audit command, and look for the node that left it out.`
      : null,
  ({ chainId, vitals, state }) => {
    const age = provenAgeOf(vitals)
    const isLate = age === null ? state === 'following' : age > LATE_SECONDS
    if (!isLate || state === 'halted') return null
    const since = age === null ? 'No block' : `No block of the last ${age} s`
    return `${since} of chain ${chainId} is proved equal to its index: see the worker's log, and whether its nodes keep up.`
  },
  ({ chainId, vitals: { observations } }) =>
    (observations.oldestSeconds ?? 0) > LATE_SECONDS
      ? `${observations.waiting} entities of chain ${chainId} wait to be observed, one for ${Math.floor(observations.oldestSeconds ?? 0)} s: see that REDIS_URL is reached and the nodes answer reads.`
      : null,
  ({ chainId, vitals: { look } }) =>
    look === null || look.nodes.hasLogs
      ? null
      : `No node of chain ${chainId} serves logs, so entities are read one by one: add one that does to RPC_URLS_${chainId}.`,
]

/** What is wrong with a chain and its index, each with what to do next; empty when all is well. */
export const alarmsOf = (seen: {
  readonly chainId: ChainId
  readonly vitals: Vitals | null
  /** Why there are no vitals. */
  readonly fault?: unknown
  readonly state: State
  readonly checks: readonly Checked[]
}): string[] => {
  const { vitals, checks } = seen
  const faults = checks.flatMap(({ fault }) => fault ?? [])
  if (vitals === null) return [outOfReach(seen.fault), ...faults]
  return [...alarms.flatMap((alarm) => alarm({ ...seen, vitals }) ?? []), ...faults]
}

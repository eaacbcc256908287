import type { Vitals } from '../db/vitals.ts'
import { unavailable } from '../lib/errors.ts'
import { type Deployment, startBlockFault } from '../protocol/chains.ts'
import { lagging } from './lag.ts'

/** A worker that has not looked at its chain for so long, in seconds, is gone or cannot reach it: it looks several times a second. */
const SILENT_SECONDS = 10

/** How far the index is behind the chain as the worker saw it, in seconds of the chain; null while either is not known. */
export const lagOf = ({ indexed, look }: Pick<Vitals, 'indexed' | 'look'>): number | null =>
  indexed === null || look === null ? null : Math.max(0, Number(look.head.timestamp - indexed.timestamp))

/** Whether the worker has looked at its chain lately. Only the database's clock is asked: a chain has a time of its own. */
export const isWatched = ({ look }: Pick<Vitals, 'look'>): boolean => look !== null && look.ageSeconds <= SILENT_SECONDS

/** How far the head is ahead of the block at which index and chain were last proved equal, in seconds of the chain; null when none was. */
export const provenAgeOf = ({ look }: Pick<Vitals, 'look'>): number | null =>
  look === null || look.proven === null ? null : Math.max(0, Number(look.head.timestamp - look.proven.timestamp))

/** Gives how far a chain's index is behind. Throws `service_unavailable` with what keeps it from being ready. */
export const readiness = (
  deployment: Pick<Deployment, 'chainId' | 'startBlock'>,
  vitals: Pick<Vitals, 'indexed' | 'look'>,
  maxLagSeconds: number,
): { readonly indexedBlock: bigint; readonly lagSeconds: number } => {
  const { chainId } = deployment
  const { indexed, look } = vitals
  const lagSeconds = lagOf(vitals)
  if (look === null) throw unavailable(`the worker has not reached chain ${chainId} yet`)
  if (!isWatched(vitals)) {
    throw unavailable(`the worker has not reached chain ${chainId} for ${Math.floor(look.ageSeconds)} s`)
  }
  if (indexed === null || lagSeconds === null)
    throw unavailable(startBlockFault(deployment, look.head.number) ?? `chain ${chainId} is not indexed yet`)
  if (lagSeconds > maxLagSeconds) throw lagging(chainId, lagSeconds)
  return { indexedBlock: indexed.number, lagSeconds }
}

/** How a chain and its index are, in one word; `unknown` while the database is out of reach. */
export const states = ['following', 'catching up', 'stuck', 'halted', 'unknown'] as const

export type State = (typeof states)[number]

/** Judges that; `maxLagSeconds` is how far an index may be behind and still follow. */
export const stateOf = (vitals: Vitals | null, maxLagSeconds: number): State => {
  if (vitals === null) return 'unknown'
  const { look } = vitals
  if (look === null || !isWatched(vitals)) return 'stuck'
  const lag = lagOf(vitals)
  if (look.nodes.halted && lag === 0) return 'halted'
  if (look.trouble !== null) return 'stuck'
  return lag === null || lag > maxLagSeconds ? 'catching up' : 'following'
}

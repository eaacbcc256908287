import type { ChainId } from '../../protocol/chains.ts'
import type { Changes } from '../cache/resources.ts'
import { lagOfReached } from '../lag/lag.ts'

/** How far the index was behind a chain at a time in Unix seconds; null while that was not known. */
export type LagSample = { readonly at: number; readonly lagSeconds: number | null }

/** The time between two samples, in milliseconds. */
export const LAG_EVERY_MS = 60_000

/** The most samples that are kept for a chain: those of four hours. */
export const MAX_LAGS = 240

export type Lags = ReturnType<typeof createLags>

/** Keeps how far the index was behind each chain since the process started. `sample` is called every minute. */
export const createLags = (deps: {
  readonly chainIds: readonly ChainId[]
  readonly changes: Pick<Changes, 'reached'>
  /** The time in milliseconds. */
  readonly now: () => number
  readonly most?: number
}) => {
  const { chainIds, changes, now, most = MAX_LAGS } = deps
  const kept = new Map<ChainId, readonly LagSample[]>()
  return {
    sample(): void {
      const at = Math.floor(now() / 1_000)
      for (const chainId of chainIds) {
        const reached = changes.reached(chainId)
        const lagSeconds = reached === undefined ? null : lagOfReached(reached)
        kept.set(chainId, [...(kept.get(chainId) ?? []), { at, lagSeconds }].slice(-most))
      }
    },
    /** The samples of a chain, the oldest first. */
    of: (chainId: ChainId): readonly LagSample[] => kept.get(chainId) ?? [],
  }
}

import { min } from '../lib/fixed.ts'
import type { Step } from './step.ts'
import { type Facts, grossOf } from './subjects.ts'

/**
 * Seconds from a settlement after which the protocol may take the payouts that were not claimed. Deployments differ in who
 * may call `recoverExpiredPayouts`, and not in this time, which no view returns.
 */
const GRACE = 7_776_000n

/**
 * The last second at which claims of payouts are certain to be accepted; null when the steps claim none. After it they
 * are accepted until someone calls `recoverExpiredPayouts`, so it is not before `time`, that of the next block.
 */
export const lastSecondOfClaims = (steps: readonly Step[], facts: readonly Facts[], time: bigint): bigint | null => {
  const ends = steps.flatMap(({ action }, nth) => {
    const { stats, ...of } = facts[nth] ?? {}
    const isClaim = action?.pays === 'payout' && stats !== undefined && grossOf.payout(of) > 0n
    return isClaim ? [stats.settledAt + GRACE - 1n] : []
  })
  const [first, ...others] = ends
  if (first === undefined) return null
  const end = others.reduce(min, first)
  return end < time ? time : end
}

import { min } from '../../lib/fixed.ts'
import type { Facts } from '../steps/facts.ts'
import type { Step } from '../steps/step.ts'

/**
 * The last second at which claims are certain to be accepted; null when no time ends them. Later ones may be refused, so
 * it is not before `time`, that of the next block.
 */
export const lastSecondOfClaims = (steps: readonly Step[], facts: readonly Facts[], time: bigint): bigint | null => {
  const [first, ...others] = steps.flatMap(({ action }, nth) => action?.pays?.lastSecond?.(facts[nth] ?? {}) ?? [])
  if (first === undefined) return null
  const end = others.reduce(min, first)
  return end < time ? time : end
}

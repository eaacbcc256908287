import type { Output } from './outputs.ts'
import { largestNotional, type Range } from './payoff.ts'

/** What cannot be read off a chain and differs between deployments of the protocol. */
export type Profile = {
  /** The notional that the pool can still write, in token units. */
  capacity(utilization: Output<'getPoolUtilization'>, range: Range): bigint
}

/** One row a kind of deployment; answers of the API mean the same for each. */
export const profiles = {
  /** The specification's meaning: the view gives notional. */
  reference: { capacity: ({ availableCapacity }) => availableCapacity },
  /** The view gives the liquidity that is free for worst-case payouts. */
  deployed: { capacity: ({ availableCapacity }, range) => largestNotional(range, availableCapacity) },
} as const satisfies Record<string, Profile>

export type ProfileName = keyof typeof profiles

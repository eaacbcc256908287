import type { Output } from './outputs.ts'
import { largestNotional, type Range } from './payoff.ts'

/** The kinds of deployment, by what the specification leaves to them. */
export const profileNames = ['reference', 'deployed'] as const

export type ProfileName = (typeof profileNames)[number]

/** What cannot be read off a chain and differs between deployments of the protocol. */
export type Profile = {
  /** Functions that a deployment may do without and still be what it should. */
  readonly mayLack: readonly string[]
  /** The notional that the pool can still write at a block, in token units; none while it is closed and from expiry on. */
  capacity(event: {
    readonly core: Pick<Output<'getHedgeEventCore'>, 'status' | 'poolOpen' | 'expiryDate'>
    readonly utilization: Pick<Output<'getPoolUtilization'>, 'availableCapacity'>
    readonly range: Range
    /** Of the block that these were read at, in Unix seconds. */
    readonly time: bigint
  }): bigint
}

/** The status of an event that is not settled. */
const OPEN = 0

/** One row a kind of deployment; answers of the API mean the same for each. */
export const profiles = {
  /** The specification's meaning: the view gives notional. */
  reference: { mayLack: [], capacity: ({ utilization }) => utilization.availableCapacity },
  /** The view gives the liquidity that is free for worst-case payouts, also when no more purchases can follow. */
  deployed: {
    // Cuts that apply at once need no proposals.
    mayLack: ['owner', 'getProposal', 'executeCut', 'cancelCut'],
    capacity: ({ core, utilization, range, time }) =>
      core.status === OPEN && core.poolOpen && time < core.expiryDate
        ? largestNotional(range, utilization.availableCapacity)
        : 0n,
  },
} as const satisfies Record<ProfileName, Profile>

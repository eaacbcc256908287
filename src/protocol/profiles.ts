import type { Output } from './abi/outputs.ts'
import { largestNotional, type Range } from './payoff.ts'

/** The kinds of deployment. They differ where the specification leaves a choice. */
export const profileNames = ['reference', 'deployed'] as const

export type ProfileName = (typeof profileNames)[number]

/** Differences between deployments of the protocol that cannot be read from a chain. */
export type Profile = {
  /** Functions that a deployment of this kind may lack. */
  readonly mayLack: readonly string[]
  /** Whether a withdrawal of capital is rounded up, because the deposit's part of the payouts is rounded down. */
  readonly roundsCapitalUp: boolean
  /** Whether a signed quote is refused while no signer is registered; otherwise its signature is not checked then. */
  readonly needsSigner: boolean
  /**
   * The notional that the pool can still write at a block, in token units; 0 while the pool is closed and from expiry
   * on.
   */
  capacity(event: {
    readonly core: Pick<Output<'getHedgeEventCore'>, 'status' | 'poolOpen' | 'expiryDate'>
    readonly utilization: Pick<Output<'getPoolUtilization'>, 'availableCapacity'>
    readonly range: Range
    /** Time of the block at which the views were read, in Unix seconds. */
    readonly time: bigint
  }): bigint
}

/** The status of an event that is not settled. */
export const OPEN = 0

/** One row per kind of deployment. Answers of the API have the same meaning for every kind. */
export const profiles = {
  /** The specification's meaning: the view returns notional. */
  reference: {
    mayLack: [],
    roundsCapitalUp: false,
    needsSigner: true,
    capacity: ({ utilization }) => utilization.availableCapacity,
  },
  /** The view returns the liquidity that is free for worst-case payouts, even when purchases are no longer possible. */
  deployed: {
    // Cuts take effect immediately, so there are no proposals.
    mayLack: ['owner', 'getProposal', 'executeCut', 'cancelCut'],
    roundsCapitalUp: true,
    needsSigner: false,
    capacity: ({ core, utilization, range, time }) =>
      core.status === OPEN && core.poolOpen && time < core.expiryDate
        ? largestNotional(range, utilization.availableCapacity)
        : 0n,
  },
} as const satisfies Record<ProfileName, Profile>

import { MAX_UINT128, max, min, mulDivDown } from '../../lib/fixed.ts'
import { type Range, width, worstCasePayout } from '../payoff.ts'
import type { ProfileName } from '../profiles.ts'

/** The totals of a pool that its views follow from, in units of its token. */
type Pool = {
  readonly isSettled: boolean
  readonly poolOpen: boolean
  readonly totalLiquidity: bigint
  readonly totalShares: bigint
  readonly totalMaxPayout: bigint
}

/** The terms of an event that the capacity of its pool follows from, and the time of a block in Unix seconds. */
type At = { readonly range: Range; readonly expiryDate: bigint; readonly time: bigint }

/** How the views of a deployment follow from the totals of a pool. Amounts are in units of its token. */
export type Rules = {
  /** Whether the pool of a new event is open. */
  readonly opensPool: boolean
  /** Whether the reserve of a settled event is the sum of its payouts, and not the payout of the summed notional. */
  readonly reservesEachPayout: boolean
  /** Whether recovering unclaimed payouts lowers the reserve by them. */
  readonly recoveryLowersReserve: boolean
  /** `availableCapacity` of `getPoolUtilization`. */
  capacity(pool: Pool, at: At): bigint
  /** `payoutAmount` of a position whose event is not settled. */
  unsettledPayout(range: Range, notional: bigint): bigint
  /** `premiumsEarned` of a deposit, by what it earned and claimed. */
  premiumsEarned(earned: bigint, claimed: bigint): bigint
  /** What `withdrawCapital` pays for a deposit of a settled event. */
  capital(pool: Pool, deposit: { readonly amount: bigint; readonly shares: bigint }): bigint
}

/** The specification's: `contracts/facets`. */
const reference: Rules = {
  opensPool: true,
  reservesEachPayout: false,
  recoveryLowersReserve: false,
  capacity: ({ isSettled, poolOpen, totalLiquidity, totalMaxPayout }, { range, expiryDate, time }) =>
    poolOpen && !isSettled && time < expiryDate
      ? min(mulDivDown(totalLiquidity - totalMaxPayout, range.initialRate, width(range)), MAX_UINT128)
      : 0n,
  unsettledPayout: () => 0n,
  premiumsEarned: (earned) => earned,
  capital: ({ totalLiquidity, totalMaxPayout, totalShares }, { shares }) =>
    mulDivDown(totalLiquidity - totalMaxPayout, shares, totalShares),
}

/** Those of deployments that differ from it: `contracts/deployed`. */
const deployed: Rules = {
  opensPool: false,
  reservesEachPayout: false,
  recoveryLowersReserve: false,
  capacity: ({ totalLiquidity, totalMaxPayout }) => max(totalLiquidity - totalMaxPayout, 0n),
  unsettledPayout: worstCasePayout,
  premiumsEarned: (_earned, claimed) => claimed,
  capital: ({ totalLiquidity, totalMaxPayout }, { amount }) =>
    max(amount - mulDivDown(totalMaxPayout, amount, totalLiquidity), 0n),
}

/** The rules that deployments of a profile can have. Those are right with which the logs add up to the chain's state. */
export const rulesOf: Readonly<Record<ProfileName, readonly [Rules, ...Rules[]]>> = {
  reference: [reference],
  deployed: [deployed, { ...deployed, reservesEachPayout: true, recoveryLowersReserve: true }],
}

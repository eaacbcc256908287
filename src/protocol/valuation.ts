import { z } from 'zod'
import { mulDivDown } from '../lib/fixed.ts'
import { Amount, decimal, Rate, type Readable } from './fields/response-fields.ts'
import { rulesOf } from './history/rules.ts'
import type { ProfileName } from './profiles.ts'
import type { Deposit } from './records.ts'
import type { EventViews } from './rows.ts'

const YEAR = 365n * 86_400n

/** The scale of a yield. */
const ONE = 1_000_000n

/** What an LP deposit is worth, in units of its token. */
export const Valuation = z.object({
  capital: Amount.meta({
    description:
      'What remains of its capital after payouts: after the settlement what a withdrawal pays, before it the least that it will pay; 0 once it is withdrawn',
  }),
  atRisk: Amount.meta({
    description: 'The rest of its capital, which payouts take or, before the settlement, may take',
  }),
  claimable: Amount.meta({ description: 'Premiums that can be claimed now, before the fee' }),
  total: Amount.meta({ description: '`capital` and `claimable`' }),
  yield: Rate.meta({ description: 'Premiums earned since its creation for each unit of its amount, before fees' }),
  yieldPerYear: Rate.nullable().meta({
    description:
      'The same for a year of 365 days, by the time until the settlement or until now; null where the time of the creation is not known or has just passed',
  }),
})

/** What the valuation follows from: the views of the event and the time of their block. */
type OfEvent = Pick<EventViews, 'stats' | 'time'>

/**
 * Values a deposit by the formulas of `contracts/facets/PoolFacet.sol`, at the block of its event's views. `createdAt` in
 * Unix seconds.
 */
export const valuation = (
  deposit: Readable<z.output<typeof Deposit>>,
  { stats, time }: OfEvent,
  { createdAt, profile }: { readonly createdAt: number | null; readonly profile: ProfileName },
): z.output<typeof Valuation> => {
  const [amount, shares] = [BigInt(deposit.amount), BigInt(deposit.shares)]
  const earned = BigInt(deposit.premiumsEarned)
  const claimable = earned - BigInt(deposit.premiumsClaimed)
  const [totalLiquidity, totalMaxPayout] = [BigInt(stats.totalLiquidity), BigInt(stats.totalMaxPayout)]
  const settledAt = BigInt(stats.settledAt)
  const [{ capital: capitalOf }] = rulesOf[profile]
  // Every share of a pool has the same amount.
  const totalShares = mulDivDown(totalLiquidity, shares, amount)
  const pool = { isSettled: settledAt > 0n, poolOpen: false, totalLiquidity, totalShares, totalMaxPayout }
  const capital = deposit.withdrawn ? 0n : capitalOf(pool, { amount, shares })
  const gained = mulDivDown(earned, ONE, amount)
  const age = createdAt === null ? 0n : (settledAt > 0n ? settledAt : BigInt(time)) - BigInt(createdAt)
  return {
    capital: decimal(capital),
    atRisk: decimal(deposit.withdrawn ? 0n : amount - capital),
    claimable: decimal(claimable),
    total: decimal(capital + claimable),
    yield: decimal(gained),
    yieldPerYear: age > 0n ? decimal(mulDivDown(earned * YEAR, ONE, amount * age)) : null,
  }
}

import { breakEven, type Cost, greatestPayout, payoutAt, type Range, type Schemas } from 'fx-protection-client'

/** What a purchase pays and costs: amounts in units of the token, rates in 1e6 fixed point. */
export type Payoff = {
  /** From the lowest rate to the highest one: the payout before the payout fee at each corner. */
  readonly points: readonly { readonly rate: bigint; readonly payout: bigint }[]
  /** The rate from which on the payout is at least the cost; null when no rate pays that much, and without a cost. */
  readonly breakEven: bigint | null
  /** Null where nothing is bought. */
  readonly cost: bigint | null
  readonly most: bigint
}

const ONE = 1n

/** The rate after the whole payout zone, and the one before it, with a third of the zone as margin. */
const boundsOf = ({ strike, payoutCap, initialRate, strikeAbove }: Range): readonly [bigint, bigint] => {
  // A zone without a cap has no width: a tenth of its strike stands for it.
  const far = payoutCap === 0n ? strike + (strikeAbove ? strike : -strike) / 10n : payoutCap
  const rates = [strike, far, initialRate].toSorted((a, b) => (a < b ? -1 : 1))
  const [low = 0n, , high = 0n] = rates
  const margin = (high - low) / 3n + ONE
  return [low > margin ? low - margin : ONE, high + margin]
}

/**
 * The line of payouts by the settlement rate. It is straight between its corners, but for the rounding of the protocol,
 * and jumps at the strike of an event without a cap.
 */
export const payoffOf = (
  event: Range,
  notional: bigint,
  cost: Cost | null = null,
  fees: Pick<Schemas['FeeConfig'], 'payoutFeeRate'> | null = null,
): Payoff => {
  const [low, high] = boundsOf(event)
  const { strike, payoutCap, strikeAbove } = event
  const beforeStrike = strikeAbove ? strike - ONE : strike + ONE
  const corners = [low, beforeStrike, strike, ...(payoutCap === 0n ? [] : [payoutCap]), high]
  const rates = [...new Set(corners)].toSorted((a, b) => (a < b ? -1 : 1))
  const points = rates.map((rate) => ({ rate, payout: payoutAt(event, notional, rate) }))
  return {
    points,
    breakEven: cost === null || fees === null ? null : breakEven(event, { notional, cost: cost.total }, fees),
    cost: cost?.total ?? null,
    most: greatestPayout(event, notional),
  }
}

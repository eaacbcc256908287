import {
  feeAmount,
  payoff,
  premiumAmount,
  purchaseText,
  signBeforeText,
  termsText,
  worstCasePayout,
} from './formulas.generated.ts'
import type { Schemas } from './types.ts'

/*
 * What the terms of an event mean for a purchase, in the protocol's own integers: amounts in units of the payment token,
 * rates in 1e6 fixed point, every division rounded down.
 */

/** The fields of an event's record, or of a row of the list of events, that its payouts follow from. */
export type Range = Pick<Schemas['Event'], 'strike' | 'payoutCap' | 'initialRate' | 'strikeAbove'>

/** What a purchase takes from the wallet. */
export type Cost = { readonly premium: bigint; readonly platformFee: bigint; readonly total: bigint }

const requireAmount = (amount: bigint, name: string): void => {
  if (amount < 0n) throw new RangeError(`${name} is negative: ${amount}`)
}

/**
 * The payout of a notional when the event is settled at `rate`, before the payout fee. Throws a RangeError for a
 * negative rate or notional.
 *
 * @example
 * const event = { strike: 12_000000n, payoutCap: 13_500000n, initialRate: 11_400000n, strikeAbove: true }
 * payoutAt(event, 10_000_000000n, 12_500000n) // 438_596491n
 */
export const payoutAt = (event: Range, notional: bigint, rate: bigint): bigint => {
  requireAmount(notional, 'the notional')
  requireAmount(rate, 'the rate')
  return payoff(event, rate, notional)
}

/** The greatest payout that a notional can have, before the payout fee. Throws a RangeError for a negative notional. */
export const greatestPayout = (event: Range, notional: bigint): bigint => {
  requireAmount(notional, 'the notional')
  return worstCasePayout(event, notional)
}

/** What a wallet receives of a payout, at the fee rates that its event was created with. */
export const netPayout = (payout: bigint, { payoutFeeRate }: Pick<Schemas['FeeConfig'], 'payoutFeeRate'>): bigint =>
  payout - feeAmount(payout, payoutFeeRate)

/**
 * What a purchase costs, to the unit. An event keeps the fee rates of the time when it was created: `fees` are those of
 * `GET /v1/hedge/fees` as long as they have not changed since. A plan has the cost for any event.
 */
export const costOf = (
  { premiumRate }: Pick<Schemas['Event'], 'premiumRate'>,
  notional: bigint,
  { hedgerFeeRate }: Pick<Schemas['FeeConfig'], 'hedgerFeeRate'>,
): Cost => {
  requireAmount(notional, 'the notional')
  const premium = premiumAmount(notional, premiumRate)
  const platformFee = feeAmount(premium, hedgerFeeRate)
  return { premium, platformFee, total: premium + platformFee }
}

/**
 * The settlement rate nearest to the strike at which the payout, after the payout fee, is at least what was paid; null
 * when no rate pays that much. Beyond it the payout is never less.
 *
 * @example
 * const cost = position.premiumPaid + position.platformFeePaid
 * breakEven(event, { notional: position.notional, cost }, fees)
 */
export const breakEven = (
  event: Range,
  { notional, cost }: { readonly notional: bigint; readonly cost: bigint },
  fees: Pick<Schemas['FeeConfig'], 'payoutFeeRate'>,
): bigint | null => {
  const { strike, payoutCap, strikeAbove } = event
  const pays = (rate: bigint): boolean => netPayout(payoutAt(event, notional, rate), fees) >= cost
  if (payoutCap === 0n) return pays(strike) ? strike : null
  if (!pays(payoutCap)) return null
  const rateAt = (distance: bigint): bigint => (strikeAbove ? strike + distance : strike - distance)
  let most = strikeAbove ? payoutCap - strike : strike - payoutCap
  let least = 0n
  while (least < most) {
    const middle = (least + most) / 2n
    if (pays(rateAt(middle))) most = middle
    else least = middle + 1n
  }
  return rateAt(most)
}

/**
 * The notional that can still be bought at a time in Unix seconds: 0 for a pool that is closed, expired or settled.
 * `utilization` is that of the event's row with `include=utilization`.
 */
export const capacityOf = (
  { status, poolOpen, expiryDate }: Pick<Schemas['Event'], 'status' | 'poolOpen' | 'expiryDate'>,
  { availableCapacity }: Pick<Schemas['Utilization'], 'availableCapacity'>,
  at: number,
): bigint => (status === 0 && poolOpen && at < expiryDate ? availableCapacity : 0n)

/**
 * The terms of an event as a sentence. Anyone may create an event: its pair is cut, and put in quotes when it is not one
 * word.
 *
 * @example
 * describeEvent(event) // 'Protection against USD/GHS above 12, capped at 13.5, until the expiry 2026-12-01T00:00:00Z.'
 */
export const describeEvent = (event: Range & Pick<Schemas['Event'], 'underlying' | 'expiryDate'>): string =>
  `Protection against ${termsText(event)}.`

/**
 * A purchase as the sentence that a plan has as its `summary` when nothing has to be approved: what is bought, the
 * greatest payout before the payout fee, and the greatest cost. `deadline` in Unix seconds.
 */
export const describePurchase = (
  event: Range & Pick<Schemas['Event'], 'id' | 'underlying' | 'expiryDate'>,
  { deadline, ...purchase }: { readonly notional: bigint; readonly maxCost?: bigint; readonly deadline?: number },
  token: Pick<Schemas['EventRow'], 'symbol' | 'decimals'>,
): string => {
  const text = `Buy ${purchaseText(event, { eventId: event.id, ...purchase }, token)}.`
  return deadline === undefined ? text : `${text} ${signBeforeText(deadline)}`
}

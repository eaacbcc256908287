import { invalid, type ServiceError } from '../../lib/errors.ts'
import type { QuoteRequest } from '../messages.ts'
import type { PairModel } from '../model.ts'
import { amountsDown, type FixedRange, snapRate } from './premium.ts'

/* The terms of a quote, as quotes and backtests check them. Each check throws `validation_error` with the field. */

/** Millionths: more than 15 digits are not exact in a number. */
const MAX_PAYOUT = 10n ** 15n - 1n

export const refuse = (path: string, message: string): ServiceError => invalid(message, [{ path, message }])

/** Throws for an expiry that is not after `asOf` (Unix seconds). */
export const checkExpiry = ({ expiryUnixSeconds }: QuoteRequest, asOf: number): void => {
  if (expiryUnixSeconds <= asOf) throw refuse('expiryUnixSeconds', 'the expiry has passed')
}

/** Returns the model of the pair. Throws without one, and where its drift needs an interest rate that is missing. */
export const checkPair = ({ pair }: QuoteRequest, model: PairModel | undefined): PairModel => {
  if (model === undefined) throw refuse('pair', `unsupported pair ${pair}: no history of at least 30 closes in 90 days`)
  const { missingRate } = model.drift
  if (missingRate !== null)
    throw refuse(
      'pair',
      `unsupported pair ${pair}: the engine has no interest rate of ${missingRate}; the operator adds it to ENGINE_LOCAL_RATES_FILE`,
    )
  return model
}

/**
 * The range in the protocol's millionths, so that the priced range equals the range on chain. Throws for a strike and
 * cap in the wrong order or finer than six decimals.
 */
export const rangeOf = ({ strike, payoutCap, strikeAbove }: QuoteRequest, spot: bigint | undefined): FixedRange => {
  const snap = (path: string, six: bigint | undefined): bigint => {
    if (six === undefined)
      throw refuse(path, `${path === 'pair' ? 'the spot' : path} needs more than six decimals: quote the inverted pair`)
    return six
  }
  const range = {
    initialRate: snap('pair', spot),
    strike: snap('strike', snapRate(strike)),
    payoutCap: snap('payoutCap', snapRate(payoutCap)),
  }
  if (strikeAbove && range.payoutCap <= range.strike)
    throw refuse('payoutCap', 'an upward range has its cap above its strike')
  if (!strikeAbove && range.payoutCap >= range.strike)
    throw refuse('payoutCap', 'a downward range has its cap below its strike')
  return range
}

/** Throws for a notional (millionths) whose largest payout has more than 15 digits or rounds to 0. */
export const checkPayout = (range: FixedRange, notional: bigint): void => {
  const { maxPayout } = amountsDown(range, 0n, notional)
  if (maxPayout > MAX_PAYOUT) {
    throw refuse(
      'notional',
      'the payout has more than 15 digits, which a number cannot hold exactly: lower the notional',
    )
  }
  if (maxPayout === 0n) throw refuse('notional', 'the greatest payout rounds to 0 at six decimals: raise the notional')
}

import type { LocalRates } from './market/local-rates.ts'
import type { History } from './market/market.ts'
import { daysBetween } from './market/series.ts'
import type { Pair } from './pair.ts'

/**
 * The expected drift of the rate, and the interest rates that the kernel derives from it; annual, continuously
 * compounded.
 */
export type Drift = {
  /** Log drift of the rate. */
  readonly mu: number
  /** The risk-free rate of the currency that is not the dollar (of BASE in a cross); null where drift is empirical. */
  readonly q: number | null
  /** r - mu: the kernel uses it as the interest rate of BASE. */
  readonly qEffective: number
  /** The date of the interest rates in use, or the currency without one; null when the drift follows the closes. */
  readonly localRates: { readonly asOf: string } | { readonly missing: string } | null
  readonly note: string
}

/**
 * The largest drift that follows from closes, a year in either direction.
 * @internal
 */
export const MAX_EMPIRICAL_DRIFT = 0.5

/** The annualised log change over the history, at most 50 % a year in either direction. */
export const empiricalDrift = ({ closes, last }: History, r: number): Drift => {
  const first = closes[0] ?? last
  const years = daysBetween(first.date, last.date) / 365
  const change = Math.log(last.close / first.close) / years
  const mu = Math.min(Math.max(change, -MAX_EMPIRICAL_DRIFT), MAX_EMPIRICAL_DRIFT)
  const capped = mu === change ? '' : ', capped at 50 % a year'
  const note = `drift of the closes from ${first.date} to ${last.date}${capped}`
  return { mu, q: null, qEffective: r - mu, localRates: null, note }
}

/**
 * Interest parity: mu = r_QUOTE - r_BASE. For USD/XXX the kernel's rate of BASE is therefore not the rate of XXX, which
 * would reverse the sign of the forward's drift. Without the rates of both legs the drift is 0.
 */
export const parityDrift = ({ base, quote }: Pair, r: number, { rates, asOf, source }: LocalRates): Drift => {
  const rateOf = (currency: string): number | undefined => (currency === 'USD' ? r : rates[currency])
  const [ofBase, ofQuote] = [rateOf(base), rateOf(quote)]
  if (ofBase === undefined || ofQuote === undefined) {
    const missing = ofBase === undefined ? base : quote
    const note = `no interest rate of ${missing} is configured, so drift is 0`
    return { mu: 0, q: r, qEffective: r, localRates: { missing }, note }
  }
  const mu = ofQuote - ofBase
  const note = `interest rates of ${asOf} (${source})`
  return { mu, q: base === 'USD' ? ofQuote : ofBase, qEffective: r - mu, localRates: { asOf }, note }
}

import type { LocalRates } from './market/local-rates.ts'
import type { History } from './market/market.ts'
import { daysBetween } from './market/series.ts'
import type { Pair } from './pair.ts'
import { anchorOf, tiers } from './tiers.ts'

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
  /** The date of the interest rates in use; null when the drift follows the closes, or a rate is missing. */
  readonly localRates: { readonly asOf: string } | null
  /** The currency without an interest rate, where the drift needs one: there is no quote on such a drift. */
  readonly missingRate: string | null
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
  return { mu, q: null, qEffective: r - mu, localRates: null, missingRate: null, note }
}

/** The rate of a currency; `r` is the dollar's. A pegged currency that the table lacks has the rate of its anchor. */
const rateOf = (currency: string, r: number, table: LocalRates): number | undefined => {
  if (currency === 'USD') return r
  const anchor = anchorOf(currency)
  return table.rates[currency] ?? (anchor === undefined ? undefined : rateOf(anchor, r, table))
}

/** The currencies of tiers whose drift follows interest rates, that have none in the table. */
export const currenciesWithout = (table: LocalRates): readonly string[] =>
  Object.values(tiers)
    .filter(({ useEmpiricalDrift }) => !useEmpiricalDrift)
    .flatMap(({ currencies }) => currencies.filter((each) => rateOf(each, 0, table) === undefined))

/**
 * Interest parity: mu = r_QUOTE - r_BASE. For USD/XXX the kernel's rate of BASE is therefore not the rate of XXX, which
 * would reverse the sign of the forward's drift. A pegged currency without a rate has that of its anchor: the peg holds
 * only while money earns the same in both. Without the rates of both legs the drift is 0, and `missingRate` has the
 * currency.
 */
export const parityDrift = ({ base, quote }: Pair, r: number, table: LocalRates): Drift => {
  const [ofBase, ofQuote] = [rateOf(base, r, table), rateOf(quote, r, table)]
  if (ofBase === undefined || ofQuote === undefined) {
    const missing = ofBase === undefined ? base : quote
    const note = `no interest rate of ${missing} is configured, so drift is 0`
    return { mu: 0, q: r, qEffective: r, localRates: null, missingRate: missing, note }
  }
  const mu = ofQuote - ofBase
  const { asOf, source } = table
  const note = `interest rates of ${asOf} (${source})`
  const q = base === 'USD' ? ofQuote : ofBase
  return { mu, q, qEffective: r - mu, localRates: { asOf }, missingRate: null, note }
}

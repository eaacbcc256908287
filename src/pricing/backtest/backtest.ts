import { setImmediate as breathe } from 'node:timers/promises'
import { isBundled } from '../market/bundled.ts'
import type { Backtest, QuoteRequest } from '../messages.ts'
import { inputsOver, type Model, type ModelOptions } from '../model.ts'
import { type Pair, parsePair } from '../pair.ts'
import { fromSix, sixRound } from '../quotes/premium.ts'
import { checkExpiry, checkPair, checkPayout, rangeOf, refuse } from '../quotes/terms.ts'
import { createMonths, type Month, monthsOf } from './months.ts'
import { dayAfter, openPast, type Past } from './past.ts'
import { chanceOf, outcomeOf, rangeAt } from './ranges.ts'
import { type DatedWorth, ratiosByYear, rounded, worstOf } from './years.ts'

/** Months that are priced between two turns of the event loop. */
const SLICE = 24

/** More days than any history has. */
const MAX_DAYS = 50_000

/** The range of a backtest in proportion to the spot, over whole days. */
type Proportions = {
  readonly strikeToSpot: number
  readonly payoutCapToSpot: number
  readonly days: number
  /** Millionths. */
  readonly notional: bigint
}

type Entry = Backtest['series'][number]
type Seen = {
  readonly entry: Entry
  readonly dated: DatedWorth
  /** Millionths. */
  readonly premium: bigint
  readonly payout: bigint
  /** The model's probability that the range pays. */
  readonly chance: number
}

/** What the range would have cost and paid from the end of a month; undefined when the closes end before its expiry. */
const priceMonth = (past: Past, pair: Pair, month: Month, range: Proportions): Seen | undefined => {
  const { date, spot, basis } = month
  const { strikeToSpot, payoutCapToSpot, days, notional } = range
  const settlement = past.settlementOf(pair, dayAfter(date, days))
  if (!settlement) return undefined
  const years = days / 365
  const inputs = inputsOver(basis, years)
  const fixed = rangeAt(spot, strikeToSpot, payoutCapToSpot)
  const terms = inputs && { inputs, initialRate: spot, settlement, years }
  const outcome = terms && fixed && outcomeOf(terms, fixed, notional)
  const shown = { date, spot: fromSix(spot) }
  if (terms === undefined || fixed === undefined || outcome === undefined) {
    const entry = { ...shown, premiumUsd: null, payoutUsd: null, paid: null }
    return { entry, dated: { date, quotes: 0, premiums: 0, worth: 0 }, premium: 0n, payout: 0n, chance: 0 }
  }
  const { premium, payout } = outcome
  const type = fixed.payoutCap > fixed.strike ? 'call' : 'put'
  return {
    entry: { ...shown, premiumUsd: fromSix(premium), payoutUsd: fromSix(payout), paid: payout > 0n },
    dated: { date, quotes: 1, premiums: Number(premium), worth: Number(payout) * Math.exp(-terms.inputs.r * years) },
    ...{ premium, payout },
    chance: chanceOf(terms, type, fromSix(fixed.strike)),
  }
}

/** @internal The number of months from a date to another, both included. */
export const monthsFrom = (first: string, last: string): number => {
  const monthOf = (date: string): number => 12 * Number(date.slice(0, 4)) + Number(date.slice(5, 7))
  return monthOf(last) - monthOf(first) + 1
}

const summaryOf = (seen: readonly Seen[]) => {
  const quoted = seen.filter(({ dated }) => dated.quotes > 0)
  const sum = (of: (each: Seen) => number): number => quoted.reduce((total, each) => total + of(each), 0)
  const mean = (of: (each: Seen) => number): number | null =>
    quoted.length === 0 ? null : rounded(sum(of) / quoted.length)
  const premiums = sum(({ dated }) => dated.premiums)
  const worst = worstOf(ratiosByYear(seen.map(({ dated }) => dated)))
  const total = (of: (each: Seen) => bigint): number => fromSix(quoted.reduce((all, each) => all + of(each), 0n))
  const [firstDate, lastDate] = [seen[0]?.entry.date ?? '', seen.at(-1)?.entry.date ?? '']
  return {
    firstDate,
    lastDate,
    dates: quoted.length,
    refused: seen.length - quoted.length,
    unpriced: monthsFrom(firstDate, lastDate) - seen.length,
    premiumsUsd: total(({ premium }) => premium),
    payoutsUsd: total(({ payout }) => payout),
    ratio: premiums === 0 ? null : rounded(sum(({ dated }) => dated.worth) / premiums),
    paidShare: mean(({ payout }) => (payout > 0n ? 1 : 0)),
    modelProbability: mean(({ chance }) => chance),
    worstYear: worst && { year: worst[0], ratio: worst[1] },
  }
}

/**
 * Prices the range of a quote, in proportion to the spot, at the end of each month of the bundled history, and pays it
 * at its expiry. Uses only closes and interest rates that were known on each date. Rejects (`validation_error`) terms
 * that are no range, a pair without bundled history, and a term without a month in it. The first request for a pair
 * calibrates its history: until it is ready the request is `service_unavailable`.
 */
export const createBacktester = (
  options: Pick<ModelOptions, 'localRates' | 'volMarkups' | 'now'> & { readonly model: Model },
): ((request: QuoteRequest, client: string) => Promise<Backtest>) => {
  const { model, now } = options
  let opening: Promise<Past> | undefined
  const open = (): Promise<Past> => {
    opening ??= openPast().catch((fault: unknown) => {
      // The next request tries again.
      opening = undefined
      throw fault
    })
    return opening
  }
  const months = createMonths({ compute: async (pair) => monthsOf(await open(), pair, options) })

  return async (request, client) => {
    const asOf = Math.floor(now() / 1_000)
    checkExpiry(request, asOf)
    const priced = checkPair(request, await model(request.pair))
    const fixed = rangeOf(request, priced.spot)
    const notional = sixRound(request.notional)
    checkPayout(fixed, notional)
    const pair = parsePair(request.pair)
    if (pair === undefined || !isBundled(pair))
      throw refuse(
        'pair',
        `no bundled history of ${request.pair}: a backtest needs closes of both currencies since 1990`,
      )

    const days = Math.max(1, Math.round((request.expiryUnixSeconds - asOf) / 86_400))
    const spot = fromSix(fixed.initialRate)
    const strikeToSpot = fromSix(fixed.strike) / spot
    const payoutCapToSpot = fromSix(fixed.payoutCap) / spot
    const tooLong = (): Error =>
      refuse(
        'expiryUnixSeconds',
        `no month of the history is followed by ${days} days of closes: choose an earlier expiry`,
      )
    if (days > MAX_DAYS) throw tooLong()
    const known = await months(request.pair, client)
    const past = await open()
    const seen: Seen[] = []
    for (const [index, month] of known.entries()) {
      if (index % SLICE === SLICE - 1) await breathe()
      const one = priceMonth(past, pair, month, { strikeToSpot, payoutCapToSpot, days, notional })
      if (one !== undefined) seen.push(one)
    }
    if (seen.length === 0) throw tooLong()
    return {
      pair: request.pair,
      direction: request.strikeAbove ? 'upward' : 'downward',
      horizonDays: days,
      strikeToSpot,
      payoutCapToSpot,
      notional: request.notional,
      source: past.source,
      closesEnd: past.lastClose,
      rates: 'known',
      summary: summaryOf(seen),
      series: seen.map(({ entry }) => entry),
    }
  }
}

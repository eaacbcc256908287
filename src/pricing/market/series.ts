import { inverse, type Pair, pairName } from '../pair.ts'

/** A day's rate; `date` is YYYY-MM-DD. */
export type Close = { readonly date: string; readonly close: number }

/** Daily closes of a pair as published, in any order. */
export type Series = { readonly pair: Pair; readonly closes: readonly Close[] }

/**
 * Series of one publisher. A pair's history uses one source, because the fixings of two publishers differ by more than
 * the move of a calm day.
 */
export type Source = {
  readonly name: string
  /** True for generated rates. */
  readonly synthetic: boolean
  readonly series: readonly Series[]
}

/** Trading days in an estimate: three years. Older closes belong to another regime. */
const WINDOW = 756

const FEWEST_CLOSES = 30
const RECENT_DAYS = 90
const DAY_MS = 86_400_000

/** The day (UTC) of a time in Unix milliseconds, YYYY-MM-DD. */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** Days from one date to another, both YYYY-MM-DD. */
export const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / DAY_MS

const isWeekday = (date: string): boolean => {
  const day = new Date(date).getUTCDay()
  return day >= 1 && day <= 5
}

/** False for a move that no floating rate makes in a day: a typing error, or a new currency under the same code. */
export const isOneLevel = (a: Close, b: Close): boolean => Math.abs(Math.log(a.close / b.close)) < 1

/**
 * The closes of a series that estimates use, oldest first, at most three years of them: weekdays up to `today`,
 * positive, one close a day, and no jump by a factor of e or more from one close to the next. A close that jumps so far
 * is removed, unless the next day's close confirms it. Then the currency has a new level (or the old level was an
 * error), and the series starts there.
 */
export const usableCloses = (closes: readonly Close[], today: string): readonly Close[] => {
  let usable: Close[] = []
  let leapt: Close | undefined
  for (const close of closes.toSorted((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0))) {
    const last = usable.at(-1)
    const isPlausible = close.close > 0 && Number.isFinite(close.close) && isWeekday(close.date) && close.date <= today
    if (!isPlausible || last?.date === close.date) continue
    if (last === undefined || isOneLevel(close, last)) {
      usable.push(close)
      leapt = undefined
    } else if (leapt === undefined || !isOneLevel(close, leapt)) {
      leapt = close
    } else if (leapt.date !== close.date) {
      usable = [leapt, close]
      leapt = undefined
    }
  }
  return usable.slice(-WINDOW)
}

/** True with at least 30 closes in the 90 days up to the newest: fewer give no meaningful volatility. */
export const hasEnoughCloses = (closes: readonly Close[]): boolean => {
  const newest = closes.at(-1)
  return (
    newest !== undefined &&
    closes.filter(({ date }) => daysBetween(date, newest.date) < RECENT_DAYS).length >= FEWEST_CLOSES
  )
}

/** Usable closes of one source by `BASE/QUOTE`. */
export type Table = ReadonlyMap<string, readonly Close[]>

const direct = (table: Table, pair: Pair): readonly Close[] | undefined => {
  const closes = table.get(pairName(pair))
  if (closes !== undefined) return closes
  return table.get(pairName(inverse(pair)))?.map(({ date, close }) => ({ date, close: 1 / close }))
}

/**
 * Closes of a pair from one source: as published, inverted, or as a cross through the dollar on the days that both legs
 * have.
 */
export const closesOf = (table: Table, pair: Pair): readonly Close[] | undefined => {
  const published = direct(table, pair)
  if (published !== undefined) return published
  const [bases, quotes] = [pair.base, pair.quote].map((quote) => direct(table, { base: 'USD', quote }))
  if (bases === undefined || quotes === undefined) return undefined
  const perDollar = new Map(bases.map(({ date, close }) => [date, close]))
  return quotes.flatMap(({ date, close }) => {
    const base = perDollar.get(date)
    return base === undefined ? [] : [{ date, close: close / base }]
  })
}

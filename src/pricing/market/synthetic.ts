import { normals, uniforms } from '../../lib/random.ts'
import type { Feed } from './market.ts'
import type { Close, Source } from './series.ts'

const SEED = 1_957
const BEGINS = Date.UTC(2022, 0, 3)
const DAY_MS = 86_400_000

/** A generated pair: its last close, independent of the day, and its yearly volatility and drift. */
type Pattern = readonly [base: string, quote: string, lastClose: number, volatility: number, drift: number]

// biome-ignore format: aligned columns are easier to read
const patterns: readonly Pattern[] = [
  ['USD', 'GHS', 11.4, 0.12, 0.12],
  ['USD', 'NGN', 1485, 0.15, 0.12],
  ['USD', 'KES', 129.5, 0.08, 0.04],
  ['EUR', 'USD', 1.085, 0.07, 0],
  ['USD', 'ZAR', 18.2, 0.14, 0.03],
  ['USD', 'ZMW', 26.4, 0.14, 0.1],
  ['USD', 'BRL', 5.42, 0.14, 0.04],
  ['USD', 'INR', 83.9, 0.05, 0.03],
  ['USD', 'MXN', 18.6, 0.12, 0.02],
  ['GBP', 'USD', 1.27, 0.08, 0],
  ['USD', 'TRY', 34.2, 0.14, 0.25],
  ['USD', 'EGP', 48.6, 0.14, 0.12],
]

/** Clustered daily variance around the yearly volatility, and about one jump of half of it a year. */
const simulate = ([, , lastClose, volatility, drift]: Pattern, seed: number, until: number): Close[] => {
  const [alpha, beta] = [0.12, 0.83]
  const omega = (volatility ** 2 / 252) * 0.05
  const uniform = uniforms(seed)
  const normal = normals(uniform)
  const closes: Close[] = []
  let variance = omega / (1 - alpha - beta)
  let level = 0
  for (let time = BEGINS; time < until; time += DAY_MS) {
    const residual = Math.sqrt(variance) * normal()
    const jump = uniform() < 1 / 252 ? volatility / 2 : 0
    const date = new Date(time)
    if (date.getUTCDay() === 0 || date.getUTCDay() === 6) continue
    variance = omega + alpha * residual ** 2 + beta * variance
    level += drift / 252 + residual + jump
    closes.push({ date: date.toISOString().slice(0, 10), close: Math.exp(level) })
  }
  return closes.map(({ date, close }) => ({ date, close: lastClose * (close / Math.exp(level)) }))
}

/**
 * Generated daily closes up to yesterday of USD/GHS, which the examples use, and of the other pairs of the sandbox's
 * events. The move of a given day is always the same; the level is scaled so that the last close does not depend on the
 * day.
 */
export const syntheticFeed = ({ now }: { readonly now: () => number }): Feed => {
  let made = { day: -1, sources: [] as readonly Source[] }
  return {
    name: 'synthetic history',
    async read() {
      const day = Math.floor(now() / DAY_MS)
      if (day !== made.day) {
        const series = patterns.map((pattern, nth) => {
          const [base, quote] = pattern
          return { pair: { base, quote }, closes: simulate(pattern, SEED + nth, day * DAY_MS) }
        })
        made = { day, sources: [{ name: 'synthetic (seeded random walk, not market data)', synthetic: true, series }] }
      }
      return made.sources
    },
  }
}

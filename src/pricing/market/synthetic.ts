import { normals, uniforms } from '../../lib/random.ts'
import type { Feed } from './market.ts'
import type { Close, Source } from './series.ts'

const SEED = 1_957
const BEGINS = Date.UTC(2022, 0, 3)
const DAY_MS = 86_400_000

/** The last close of the history, independent of the day. */
const LAST_CLOSE = 11.4

/**
 * A frontier currency: clustered daily variance around 12 % a year, a loss of 12 % a year, and about one jump of 6 % a
 * year.
 */
const process = {
  omega: (0.12 ** 2 / 252) * 0.05,
  alpha: 0.12,
  beta: 0.83,
  drift: 0.12 / 252,
  jumpsADay: 1 / 252,
  jump: 0.06,
}

const simulate = (until: number): Close[] => {
  const uniform = uniforms(SEED)
  const normal = normals(uniform)
  const closes: Close[] = []
  let variance = process.omega / (1 - process.alpha - process.beta)
  let level = 0
  for (let time = BEGINS; time < until; time += DAY_MS) {
    const residual = Math.sqrt(variance) * normal()
    const jump = uniform() < process.jumpsADay ? process.jump : 0
    const date = new Date(time)
    if (date.getUTCDay() === 0 || date.getUTCDay() === 6) continue
    variance = process.omega + process.alpha * residual ** 2 + process.beta * variance
    level += process.drift + residual + jump
    closes.push({ date: date.toISOString().slice(0, 10), close: Math.exp(level) })
  }
  return closes.map(({ date, close }) => ({ date, close: LAST_CLOSE * (close / Math.exp(level)) }))
}

/**
 * Generated daily closes of USD/GHS up to yesterday. The examples use this pair, and no free real history of it exists.
 * The move of a given day is always the same; the level is scaled so that the last close is 11.40.
 */
export const syntheticFeed = ({ now }: { readonly now: () => number }): Feed => {
  let made = { day: -1, sources: [] as readonly Source[] }
  return {
    name: 'synthetic history',
    async read() {
      const day = Math.floor(now() / DAY_MS)
      if (day !== made.day) {
        const series = [{ pair: { base: 'USD', quote: 'GHS' }, closes: simulate(day * DAY_MS) }]
        made = { day, sources: [{ name: 'synthetic (seeded random walk, not market data)', synthetic: true, series }] }
      }
      return made.sources
    },
  }
}

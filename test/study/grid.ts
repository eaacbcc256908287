import { fredSeries } from '../../src/pricing/market/formats.ts'
import { parsePair } from '../../src/pricing/pair.ts'
import { classify } from '../../src/pricing/tiers.ts'

/* What the study prices. */

/** Days from the quote to the expiry. */
export const HORIZONS: readonly number[] = [30, 90, 180, 365]

/** Distances from spot to strike, and from strike to cap, as fractions of spot. */
export const STRIKES: readonly number[] = [0, 0.02, 0.05, 0.1]
export const WIDTHS: readonly number[] = [0.05, 0.1, 0.2]

export const DIRECTIONS = ['upward', 'downward'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** Number of ranges in one direction. */
export const RANGES = STRIKES.length * WIDTHS.length

/** The notional of each range in millionths of a dollar: 1,000 dollars. */
export const NOTIONAL = 1_000_000_000n

/** A circular block bootstrap over the months of quotes. Blocks are twice as long as the longest horizon. */
export const BOOTSTRAP = { resamples: 1_000, block: 24, seed: 20_241_129 } as const

const crosses = [
  'EUR/JPY',
  'EUR/GBP',
  'EUR/CHF',
  'EUR/SEK',
  'GBP/JPY',
  'AUD/JPY',
  'AUD/NZD',
  'EUR/DKK',
  'EUR/MXN',
  'EUR/ZAR',
  'EUR/INR',
  'EUR/CNY',
  'SGD/MYR',
  'SGD/THB',
  'EUR/LKR',
  'INR/LKR',
] as const

export type StudyPair = {
  readonly name: string
  readonly tier: string
  /** True for a pair without closes of its own: the engine divides two rates of the dollar. */
  readonly isCross: boolean
  /** 1 when the rate rises as the riskier leg falls, -1 when it falls, 0 when neither leg is the riskier. */
  readonly riskier: 1 | 0 | -1
}

const describe = (name: string, isCross: boolean): StudyPair => {
  const pair = parsePair(name)
  const classification = pair && classify(pair)
  if (classification === undefined) throw new Error(`${name} is no pair that the service can quote`)
  return { name, tier: classification.tier, isCross, riskier: classification.direction }
}

/** Every bundled pair, and some crosses. */
export const PAIRS: readonly StudyPair[] = [
  ...Object.values(fredSeries).map((name) => describe(name, false)),
  ...crosses.map((name) => describe(name, true)),
]

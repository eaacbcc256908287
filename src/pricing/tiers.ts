import type { Garch } from './calibrate/calibrate.ts'
import type { Jumps } from './kernel/jumps.ts'
import { type Pair, pairName } from './pair.ts'

export const tierNames = ['developed', 'mainstreamEM', 'pegged', 'frontierEM'] as const

/** Groups of currencies, from the calmest to the riskiest. */
export type TierName = (typeof tierNames)[number]

export type Tier = {
  /**
   * Parameters of a pair whose history is too short to calibrate on. The mean jump is that of USD/XXX: upwards, XXX
   * loses.
   */
  readonly garch: Garch
  readonly jumps: Jumps
  /** Minimum volatility of a pair. */
  readonly floor: number
  readonly useEmpiricalDrift: boolean
  readonly currencies: readonly string[]
}

const codes = (list: string): string[] => list.split(' ')

/**
 * Defaults fitted to daily rates of the Federal Reserve (to 2024) and, for jumps of frontier currencies, monthly ones
 * of the IMF (2014-2024).
 */
export const tiers: Readonly<Record<TierName, Tier>> = {
  developed: {
    garch: { alpha: 0.06, beta: 0.92, sigmaLongRun: 0.08 },
    jumps: { lambda: 1.5, jumpMean: 0, jumpStd: 0.02 },
    floor: 0,
    useEmpiricalDrift: false,
    currencies: codes('EUR JPY GBP CHF CAD AUD NZD SEK NOK DKK SGD'),
  },
  mainstreamEM: {
    garch: { alpha: 0.07, beta: 0.9, sigmaLongRun: 0.12 },
    jumps: { lambda: 1.5, jumpMean: 0.01, jumpStd: 0.025 },
    floor: 0,
    useEmpiricalDrift: false,
    currencies: codes('BRL MXN ZAR INR CNY KRW TWD THB MYR IDR PHP PLN CZK HUF ILS CLP COP PEN TRY RON'),
  },
  pegged: {
    garch: { alpha: 0.05, beta: 0.9, sigmaLongRun: 0.05 },
    jumps: { lambda: 0.1, jumpMean: 0.1, jumpStd: 0.1 },
    // Expensive by design: the floor prices a break of the peg, which a quiet history does not contain.
    floor: 0.3,
    useEmpiricalDrift: false,
    currencies: codes('AED SAR QAR OMR BHD JOD KWD HKD'),
  },
  frontierEM: {
    garch: { alpha: 0.12, beta: 0.83, sigmaLongRun: 0.17 },
    jumps: { lambda: 0.75, jumpMean: 0.1, jumpStd: 0.12 },
    floor: 0.15,
    useEmpiricalDrift: true,
    // Examples only: every currency that no other tier lists belongs to this tier.
    currencies: codes(
      'GHS NGN KES UGX TZS ZMW ETB RWF MZN AOA EGP MAD TND PKR LKR BDT VND UAH KZT DZD MUR BWP TTD UYU ARS XOF XAF',
    ),
  },
}

/** Pegs to another currency than the dollar, the anchor first. */
const pegs = ['EUR/XOF', 'EUR/XAF', 'EUR/DKK', 'SGD/BND']

/** The currency that another is pegged to; undefined for one that floats. */
export const anchorOf = (currency: string): string | undefined =>
  tiers.pegged.currencies.includes(currency)
    ? 'USD'
    : pegs.find((peg) => peg.endsWith(`/${currency}`))?.slice(0, currency.length)

/** Redenominated, sanctioned, or without a tradable rate. */
const refused = codes('VES VED ZWG LBP SDG SYP IRR MMK RUB')

export type Classification = {
  readonly tier: TierName
  /** 1 when BASE/QUOTE rises as the riskier leg falls, -1 when it falls, 0 when neither leg is the riskier. */
  readonly direction: 1 | 0 | -1
}

const tierOf = (currency: string): TierName =>
  tierNames.find((name) => tiers[name].currencies.includes(currency)) ?? 'frontierEM'

/** The dollar ranks as calmer than any tier, because tiers describe rates against the dollar. */
const rank = (currency: string): number => (currency === 'USD' ? -1 : tierNames.indexOf(tierOf(currency)))

const directionOf = (riskier: number): 1 | 0 | -1 => (riskier > 0 ? 1 : riskier < 0 ? -1 : 0)

/** The tier of a pair's riskier leg; undefined for an unsupported pair. */
export const classify = (pair: Pair): Classification | undefined => {
  const { base, quote } = pair
  if (refused.includes(base) || refused.includes(quote)) return undefined
  if (pegs.includes(pairName(pair))) return { tier: 'pegged', direction: 1 }
  if (pegs.includes(`${quote}/${base}`)) return { tier: 'pegged', direction: -1 }
  const riskier = rank(quote) - rank(base)
  return { tier: tierOf(riskier > 0 ? quote : base), direction: directionOf(riskier) }
}

/** A tier's default jumps, in the direction in which the pair is quoted. */
export const jumpsOf = ({ tier, direction }: Classification): Jumps => {
  const { jumps } = tiers[tier]
  // Adding 0 turns a mean of -0 into 0.
  return { ...jumps, jumpMean: 0 + direction * jumps.jumpMean }
}

import type { Calibrations, Parameters } from './calibrations.ts'
import { type Drift, empiricalDrift, parityDrift } from './drift.ts'
import { isStale } from './freshness.ts'
import { seriesHolds } from './kernel/jumps.ts'
import type { LocalRates } from './market/local-rates.ts'
import type { History, Market } from './market/market.ts'
import type { UsdRate } from './market/usd-rate.ts'
import { parsePair } from './pair.ts'
import { type Basis, createSpotVolatilities, deriveInputs, type Inputs } from './quotes/inputs.ts'
import { snapRate } from './quotes/premium.ts'
import { classify, type Tier, type TierName, tiers } from './tiers.ts'
import { TRADING_DAYS } from './variance.ts'

const YEAR_SECONDS = 365 * 86_400

/** The years of 365 days between two times in Unix seconds. */
export const yearsBetween = (from: number, to: number): number => (to - from) / YEAR_SECONDS

export type ModelOptions = {
  readonly market: Market
  readonly calibrations: Calibrations
  readonly usdRate: { read(): Promise<UsdRate> }
  readonly localRates: LocalRates
  /** Factors of the volatility by tier; 1 for tiers that are not listed. */
  readonly volMarkups: Readonly<Partial<Record<TierName, number>>>
  /** A history that ends more days ago is stale, and quotes on it are never signed. */
  readonly maxStalenessDays: number
  /** Unix milliseconds. */
  readonly now: () => number
}

/** What a pair is priced with now. */
export type PairModel = {
  readonly tierName: TierName
  readonly tier: Tier
  readonly history: History
  /** True when the history ended too long ago to sign a quote on it. */
  readonly stale: boolean
  readonly usd: UsdRate
  readonly drift: Drift
  readonly parameters: Parameters
  readonly basis: Basis
  /** The spot in the protocol's millionths; undefined for one that needs more than six decimals. */
  readonly spot: bigint | undefined
  /** The kernel's inputs for a term; undefined for one that is too long for the jump series. */
  inputsFor(years: number): Inputs | undefined
}

/** Returns the present model of a pair `BASE/QUOTE`; undefined for an unsupported pair. */
export type Model = (name: string) => Promise<PairModel | undefined>

/** The kernel's inputs for a term in years; undefined for one that is too long for the jump series. */
export const inputsOver = (basis: Basis, years: number): Inputs | undefined => {
  const { parameters } = basis
  if (!seriesHolds(parameters.jumps, years)) return undefined
  return deriveInputs({ ...basis, tradingDays: TRADING_DAYS * years })
}

/** Creates the one definition of how a pair is priced, for quotes and for values. */
export const createModel = (options: ModelOptions): Model => {
  const { market, calibrations, usdRate, localRates, volMarkups, maxStalenessDays, now } = options
  const spotVolatilities = createSpotVolatilities()
  return async (name) => {
    const pair = parsePair(name)
    const classification = pair && classify(pair)
    const history = classification && market.history(pair)
    if (pair === undefined || classification === undefined || history === undefined) return undefined
    const parameters = calibrations.of(pair, classification, history)
    const tier = tiers[classification.tier]
    const usd = await usdRate.read()
    const drift = tier.useEmpiricalDrift ? empiricalDrift(history, usd.rate) : parityDrift(pair, usd.rate, localRates)
    const volMarkup = volMarkups[classification.tier] ?? 1
    const basis = { ...spotVolatilities(history, parameters), parameters, tier, drift, r: usd.rate, volMarkup }
    return {
      tierName: classification.tier,
      tier,
      history,
      usd,
      drift,
      parameters,
      basis,
      stale: isStale(history, now(), maxStalenessDays),
      spot: snapRate(history.spot.close),
      inputsFor: (years) => inputsOver(basis, years),
    }
  }
}

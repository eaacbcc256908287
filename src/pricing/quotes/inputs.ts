import { splitReturns } from '../calibrate/jumps.ts'
import type { Parameters } from '../calibrations.ts'
import type { Drift } from '../drift.ts'
import type { History } from '../market/market.ts'
import type { Tier } from '../tiers.ts'
import { averageVariance, ewmaVolatility, kernelSigma, logReturns, type VarianceForecast } from '../variance.ts'

/** Number of returns in the spot volatility. */
const SPOT_RETURNS = 60

/** The kernel's inputs and the values they derive from; rates and volatilities are annual fractions. */
export type Inputs = Omit<Drift, 'note' | 'localRates' | 'missingRate'> & {
  /** The dollar's rate, used for discounting. */
  readonly r: number
  /** The kernel's volatility: `volMarkup` times `garch.sigmaIntegrated`, at least `volFloor`. */
  readonly sigma: number
  /** What decided `sigma`: the forecast, or the tier's floor above it. */
  readonly sigmaFrom: 'model' | 'floor'
  /** The spot volatility before markup, floor and forecast. */
  readonly sigmaRealizedRaw: number
  readonly volMarkup: number
  readonly volFloor: number
  readonly garch: {
    readonly sigma0: number
    readonly sigmaLongRun: number
    readonly persistence: number
    readonly sigmaIntegrated: number
    readonly alpha: number
    readonly beta: number
    readonly from: Parameters['garchFrom']
  }
  readonly jump: Parameters['jumps'] & { readonly from: Parameters['jumpsFrom'] }
}

/** The volatility over a horizon in trading days: the forecast, and the kernel's input. */
export const horizonSigma = (
  forecast: VarianceForecast,
  tier: { readonly floor: number; readonly volMarkup: number },
  tradingDays: number,
): { readonly sigmaIntegrated: number; readonly sigma: number } => {
  const sigmaIntegrated = Math.sqrt(averageVariance(forecast, tradingDays))
  return { sigmaIntegrated, sigma: kernelSigma(sigmaIntegrated, tier) }
}

/** What a pair's inputs follow from, the same for every horizon. */
export type Basis = {
  /** The spot volatility of the closes, and what the forecast begins with. */
  readonly sigmaRealizedRaw: number
  readonly sigma0: number
  readonly parameters: Parameters
  readonly tier: Tier
  readonly drift: Drift
  readonly r: number
  readonly volMarkup: number
}

/** Annual volatilities of the newest returns: of all of them, and without their jumps. */
type SpotVolatilities = { readonly all: number; readonly diffusive: number }

/** A return is judged by those before it, so that twice as many are read. */
const volatilitiesOf = ({ closes }: Pick<History, 'closes'>): SpotVolatilities => {
  const returns = logReturns(closes.slice(-2 * SPOT_RETURNS - 1).map(({ close }) => close))
  return { all: ewmaVolatility(returns), diffusive: ewmaVolatility(splitReturns(returns).diffusive) }
}

/**
 * Returns the annual volatility of a history's newest returns, and what the forecast begins with: the same without
 * jumps, where the jumps of the pair are priced by themselves. It computes them once for a history, whose closes stay.
 */
export const createSpotVolatilities = () => {
  const known = new WeakMap<object, SpotVolatilities>()
  return (
    history: Pick<History, 'closes'>,
    { jumpsFrom }: Pick<Parameters, 'jumpsFrom'>,
  ): Pick<Basis, 'sigmaRealizedRaw' | 'sigma0'> => {
    const { all, diffusive } = known.get(history) ?? volatilitiesOf(history)
    known.set(history, { all, diffusive })
    return { sigmaRealizedRaw: all, sigma0: jumpsFrom === 'fit' ? diffusive : all }
  }
}

/** The kernel's inputs for a horizon in trading days. */
export const deriveInputs = (from: Basis & { readonly tradingDays: number }): Inputs => {
  const { sigmaRealizedRaw, sigma0, parameters, tier, r, volMarkup, tradingDays } = from
  const { mu, q, qEffective } = from.drift
  const { alpha, beta, sigmaLongRun } = parameters.garch
  const forecast = { sigma0, sigmaLongRun, persistence: alpha + beta }
  const { sigmaIntegrated, sigma } = horizonSigma(forecast, { floor: tier.floor, volMarkup }, tradingDays)
  return {
    r,
    q,
    mu,
    qEffective,
    sigma,
    sigmaFrom: sigma > volMarkup * sigmaIntegrated ? 'floor' : 'model',
    sigmaRealizedRaw,
    volMarkup,
    volFloor: tier.floor,
    garch: { ...forecast, sigmaIntegrated, alpha, beta, from: parameters.garchFrom },
    jump: { ...parameters.jumps, from: parameters.jumpsFrom },
  }
}

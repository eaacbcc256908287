import { invalid, type ServiceError } from '../lib/errors.ts'
import type { Attester } from './attest.ts'
import type { Calibrations } from './calibrations.ts'
import type { Attestation, Quote, QuoteRequest } from './contract.ts'
import { type Drift, empiricalDrift, parityDrift } from './drift.ts'
import { deriveInputs } from './inputs.ts'
import { seriesHolds } from './kernel/jumps.ts'
import { spreadPrice } from './kernel/spread.ts'
import type { LocalRates } from './market/local-rates.ts'
import type { History, Market } from './market/market.ts'
import { daysBetween } from './market/series.ts'
import type { UsdRate } from './market/usd-rate.ts'
import { type Pair, parsePair } from './pair.ts'
import {
  amountsDown,
  type FixedRange,
  fromSix,
  isWithinLeverage,
  premiumRateRound,
  sixRound,
  snapRate,
  widthOf,
} from './premium.ts'
import { type Classification, classify, type TierName, tiers } from './tiers.ts'
import { TRADING_DAYS } from './variance.ts'

const YEAR_SECONDS = 365 * 86_400
const METHOD = 'Garman-Kohlhagen spread with a 50-term Merton jump overlay over GARCH(1,1) expected-average variance'

/** Millionths: more than 15 digits are not exact in a number. */
const MOST_PAYOUT = 10n ** 15n - 1n

export type QuoterOptions = {
  readonly market: Market
  readonly calibrations: Calibrations
  readonly usdRate: { read(): Promise<UsdRate> }
  readonly localRates: LocalRates
  /** What a tier's volatility is multiplied by; 1 where nothing is said. */
  readonly volMarkups: Readonly<Partial<Record<TierName, number>>>
  /** A history that ends longer ago is stale, and what is priced on it is never signed. */
  readonly maxStalenessDays: number
  /** Null without a key: quotes are advisory then. */
  readonly attester: Attester | null
  /** Unix milliseconds. */
  readonly now: () => number
}

const refuse = (path: string, message: string): ServiceError => invalid(message, [{ path, message }])

/** True when the history ends more than `maxStalenessDays` before now. */
export const isStale = ({ last }: History, now: number, maxStalenessDays: number): boolean =>
  daysBetween(last.date, new Date(now).toISOString().slice(0, 10)) > maxStalenessDays

type Subject = { readonly pair: Pair; readonly classification: Classification; readonly history: History }

const subjectOf = (market: Market, name: string): Subject => {
  const pair = parsePair(name)
  const classification = pair && classify(pair)
  const history = classification && market.history(pair)
  if (pair === undefined || classification === undefined || history === undefined) {
    throw refuse('pair', `unsupported pair ${name}: no history of at least 30 closes in 90 days`)
  }
  return { pair, classification, history }
}

/** The range in the protocol's millionths: what is priced is what the chain will see. */
const rangeOf = ({ strike, payoutCap, strikeAbove }: QuoteRequest, spot: number): FixedRange => {
  const snap = (path: string, rate: number): bigint => {
    const six = snapRate(rate)
    if (six === undefined)
      throw refuse(
        path,
        `${path === 'pair' ? 'the spot' : path} needs more than six decimals: quote the pair the other way round`,
      )
    return six
  }
  const range = {
    initialRate: snap('pair', spot),
    strike: snap('strike', strike),
    payoutCap: snap('payoutCap', payoutCap),
  }
  if (strikeAbove && range.payoutCap <= range.strike)
    throw refuse('payoutCap', 'an upward range has its cap above its strike')
  if (!strikeAbove && range.payoutCap >= range.strike)
    throw refuse('payoutCap', 'a downward range has its cap below its strike')
  return range
}

const notesOf = (drift: Drift, usd: UsdRate, history: History, stale: boolean, premiumRate: bigint): string =>
  [
    drift.note,
    ...(usd.fallback ? [`the USD rate is the configured one of ${usd.recordDate}`] : []),
    ...(history.synthetic || history.spot.synthetic ? ['synthetic rates: made up, not of any market'] : []),
    ...(stale ? [`stale history, last close ${history.last.date}: never signed`] : []),
    ...(premiumRate > 1_000_000n ? ['a premium above the notional, which the protocol does not take'] : []),
  ].join('; ')

/**
 * Prices requests. A quote is refused (`validation_error`) for an unsupported pair, an expiry that is past or beyond the jump series, edges the
 * wrong way round or finer than six decimals, and a payout above 100 times its premium.
 *
 * @example
 * const quote = createQuoter({ market, calibrations, usdRate, localRates, volMarkups: {}, maxStalenessDays: 7, attester: null, now: Date.now })
 * const { premiumRateFixed6, breakdown } = await quote(request)
 */
export const createQuoter = (options: QuoterOptions): ((request: QuoteRequest) => Promise<Quote>) => {
  const { market, calibrations, usdRate, localRates, volMarkups, maxStalenessDays, attester, now } = options

  const attest = async (
    request: QuoteRequest,
    range: FixedRange,
    premiumRate: bigint,
    asOf: number,
  ): Promise<Attestation | null> => {
    const { chainId, diamondAddress, creator, pair, strikeAbove, expiryUnixSeconds } = request
    if (attester === null || chainId === undefined || diamondAddress === undefined || creator === undefined) return null
    return attester.sign({
      chainId,
      diamond: diamondAddress,
      creator,
      underlying: pair,
      ...range,
      premiumRate,
      expiry: BigInt(expiryUnixSeconds),
      strikeAbove,
      quoteTimestamp: BigInt(asOf),
    })
  }

  return async (request) => {
    const asOf = Math.floor(now() / 1000)
    if (request.expiryUnixSeconds <= asOf) throw refuse('expiryUnixSeconds', 'the expiry has passed')
    const { pair, classification, history } = subjectOf(market, request.pair)
    const range = rangeOf(request, history.spot.close)
    const width = widthOf(range)
    const spot = fromSix(range.initialRate)
    const edges = { strike: fromSix(range.strike), payoutCap: fromSix(range.payoutCap) }

    const years = (request.expiryUnixSeconds - asOf) / YEAR_SECONDS
    const tradingDays = TRADING_DAYS * years
    const parameters = calibrations.of(pair, classification)
    if (!seriesHolds(parameters.jumps, years)) throw refuse('expiryUnixSeconds', 'horizon too long for the jump series')

    const usd = await usdRate.read()
    const tier = tiers[classification.tier]
    const drift = tier.useEmpiricalDrift ? empiricalDrift(history, usd.rate) : parityDrift(pair, usd.rate, localRates)
    const volMarkup = volMarkups[classification.tier] ?? 1
    const inputs = deriveInputs({ history, parameters, tier, drift, r: usd.rate, volMarkup, tradingDays })

    const { sigma, r, qEffective, jump } = inputs
    const fairValue = spreadPrice({ spot, ...edges, years, sigma, r, q: qEffective }, jump)
    const premiumRate = premiumRateRound(fairValue, range)
    if (!isWithinLeverage(range, premiumRate)) {
      throw refuse('payoutCap', 'leverage above 100: the payout is more than 100 times the premium')
    }
    const { premium, maxPayout } = amountsDown(range, premiumRate, sixRound(request.notional))
    if (maxPayout > MOST_PAYOUT) {
      throw refuse('notional', 'the payout is too large to be stated to the last unit')
    }

    const stale = isStale(history, now(), maxStalenessDays)
    return {
      premiumRate: fromSix(premiumRate),
      premiumUsd: fromSix(premium),
      maxPayoutUsd: fromSix(maxPayout),
      premiumRateFixed6: String(premiumRate),
      attestation: stale ? null : await attest(request, range, premiumRate, asOf),
      breakdown: {
        pair: request.pair,
        spot,
        ...edges,
        rangeWidth: fromSix(width),
        T_years: years,
        T_days: 365 * years,
        notional: request.notional,
        direction: request.strikeAbove ? 'upward' : 'downward',
        coveragePercent: (100 * Number(width)) / Number(range.initialRate),
        method: METHOD,
        pairClassification: {
          tier: classification.tier,
          useEmpiricalDrift: tier.useEmpiricalDrift,
          notes: notesOf(drift, usd, history, stale, premiumRate),
        },
        inputs,
        // From here on more than the specification lists.
        asOf,
        tradingDays,
        fairValue,
        fairRate: fairValue / spot,
        leverage: Number(width * 1_000_000n) / Number(range.initialRate * premiumRate),
        initialRateFixed6: String(range.initialRate),
        strikeFixed6: String(range.strike),
        payoutCapFixed6: String(range.payoutCap),
        usdRate: usd,
        spotSource: { source: history.spot.source, date: history.spot.date, synthetic: history.spot.synthetic },
        history: {
          source: history.source,
          synthetic: history.synthetic,
          firstClose: history.closes[0]?.date,
          lastClose: history.last.date,
          closes: history.closes.length,
          stale,
        },
        calibration: { version: parameters.version, lastClose: parameters.lastClose },
      },
    }
  }
}

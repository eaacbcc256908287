import { driftFault, usdRateFault } from '../freshness.ts'
import { spreadPrice } from '../kernel/spread.ts'
import type { History } from '../market/market.ts'
import type { Quote, QuoteRequest } from '../messages.ts'
import { type Model, type PairModel, yearsBetween } from '../model.ts'
import { studyOf } from '../study.ts'
import { TRADING_DAYS } from '../variance.ts'
import type { Inputs } from './inputs.ts'
import {
  amountsDown,
  fromSix,
  isWithinLeverage,
  isWithinPayout,
  ONE,
  premiumRateRound,
  sixRound,
  widthOf,
} from './premium.ts'
import type { Sign } from './signing.ts'
import { checkExpiry, checkPair, checkPayout, rangeOf, refuse } from './terms.ts'

const METHOD = 'Garman-Kohlhagen spread with a 50-term Merton jump overlay over GARCH(1,1) expected-average variance'

export type QuoterOptions = {
  readonly model: Model
  /** A history that ends more days ago is stale, and quotes on it are never signed. */
  readonly maxStalenessDays: number
  /** Rejects signatures on fallback or old rates of any kind. Otherwise only on stale histories. */
  readonly isProduction: boolean
  readonly sign: Sign
  /** Unix milliseconds. */
  readonly now: () => number
}

/** What the tier's floor replaces, and that a markup has no effect below it. */
const floorNote = ({ volFloor, volMarkup, garch }: Inputs): string => {
  const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`
  const marked = volMarkup === 1 ? '' : `, so the markup of ${volMarkup} has no effect`
  return `volatility is the floor of the tier, ${percent(volFloor)}, above the forecast of ${percent(garch.sigmaIntegrated)}${marked}`
}

const isSynthetic = (history: History): boolean => history.synthetic || history.spot.synthetic

type Remarks = Pick<PairModel, 'drift' | 'usd' | 'history' | 'stale'> & {
  readonly inputs: Inputs
  /** True where the drift follows interest rates that are too old to sign a quote on. */
  readonly oldRates: boolean
  readonly premiumRate: bigint
}

const notesOf = ({ drift, usd, history, stale, inputs, oldRates, premiumRate }: Remarks): string =>
  [
    drift.note,
    ...(oldRates ? ['old interest rates'] : []),
    ...(inputs.sigmaFrom === 'floor' ? [floorNote(inputs)] : []),
    ...(usd.fallback ? [`the USD rate is the configured fallback of ${usd.recordDate}`] : []),
    ...(isSynthetic(history) ? ['synthetic rates: generated, not market data'] : []),
    ...(stale ? [`stale history, last close ${history.last.date}: never signed`] : []),
    ...(premiumRate > 1_000_000n ? ['a premium above the notional, which the protocol rejects'] : []),
  ].join('; ')

/**
 * Prices requests. A request is rejected (`validation_error`) for an unsupported pair, an expiry in the past or beyond
 * the jump series, a strike and cap in the wrong order or finer than six decimals, a payout above 100 times its premium
 * or below its premium, and a payout that rounds to 0.
 *
 * @example
 * const quote = createQuoter({ model, sign, maxStalenessDays: 7, isProduction: true, now: Date.now })
 * const { premiumRateFixed6, breakdown } = await quote(request)
 */
export const createQuoter = (options: QuoterOptions): ((request: QuoteRequest) => Promise<Quote>) => {
  const { model, maxStalenessDays, isProduction, sign, now } = options

  /** Why a quote on these rates is not signed; null when it may be signed. */
  const faultOf = ({ history, stale, usd, drift }: PairModel): string | null => {
    if (stale) return `the history ends on ${history.last.date}, more than ${maxStalenessDays} days ago`
    return isProduction ? (usdRateFault(usd, now(), maxStalenessDays) ?? driftFault(drift, now())) : null
  }

  return async (request) => {
    const asOf = Math.floor(now() / 1000)
    checkExpiry(request, asOf)
    const priced = checkPair(request, await model(request.pair))
    const { history, stale, usd, drift, parameters, tier } = priced
    const range = rangeOf(request, priced.spot)
    const width = widthOf(range)
    const spot = fromSix(range.initialRate)
    const edges = { strike: fromSix(range.strike), payoutCap: fromSix(range.payoutCap) }

    const years = yearsBetween(asOf, request.expiryUnixSeconds)
    const inputs = priced.inputsFor(years)
    if (inputs === undefined) throw refuse('expiryUnixSeconds', 'horizon too long for the jump series')

    const { sigma, r, qEffective, jump } = inputs
    const fairValue = spreadPrice({ spot, ...edges, years, sigma, r, q: qEffective }, jump)
    if (!Number.isFinite(fairValue)) throw refuse('expiryUnixSeconds', 'no finite price: choose an earlier expiry')
    const premiumRate = premiumRateRound(fairValue, range)
    if (!isWithinLeverage(range, premiumRate)) {
      throw refuse(
        'payoutCap',
        `leverage above 100: the payout is more than 100 times the premium; choose a strike nearer to the spot, ${spot}, or a later expiry`,
      )
    }
    if (!isWithinPayout(range, premiumRate)) {
      throw refuse(
        'payoutCap',
        `the premium, ${fromSix(premiumRate)} of the notional when rounded to millionths, exceeds the greatest payout: move payoutCap further from strike`,
      )
    }
    if (premiumRate > ONE) {
      throw refuse(
        'strike',
        `the premium, ${fromSix(premiumRate)} of the notional, is above 1, which the protocol rejects: choose a strike nearer to the spot, ${spot}`,
      )
    }
    const notional = sixRound(request.notional)
    checkPayout(range, notional)
    const { premium, maxPayout } = amountsDown(range, premiumRate, notional)

    const fault = faultOf(priced)
    const oldRates = driftFault(drift, now()) !== null
    const { attestation, details } = await sign(request, { range, premiumRate, asOf, fault })
    return {
      premiumRate: fromSix(premiumRate),
      premiumUsd: fromSix(premium),
      maxPayoutUsd: fromSix(maxPayout),
      premiumRateFixed6: String(premiumRate),
      attestation,
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
          tier: priced.tierName,
          useEmpiricalDrift: tier.useEmpiricalDrift,
          notes: notesOf({ drift, usd, history, stale, inputs, oldRates, premiumRate }),
        },
        inputs,
        ...studyOf({ ...request, days: 365 * years, synthetic: isSynthetic(history) }),
        // The following fields are not in the specification.
        attestation: details,
        asOf,
        tradingDays: TRADING_DAYS * years,
        fairValue,
        fairRate: fairValue / spot,
        leverage: Number(width * 1_000_000n) / Number(range.initialRate * premiumRate),
        initialRateFixed6: String(range.initialRate),
        strikeFixed6: String(range.strike),
        payoutCapFixed6: String(range.payoutCap),
        usdRate: usd,
        localRates: drift.localRates && { ...drift.localRates, stale: oldRates },
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

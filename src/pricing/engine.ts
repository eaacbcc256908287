import type { Hex } from 'viem'
import type { Logger } from '../lib/observe/log.ts'
import type { ChainId } from '../protocol/chains.ts'
import { createBacktester } from './backtest/backtest.ts'
import { type CalibrationSet, createSetReader, type FindSet, fittingPairs } from './calibration-sets.ts'
import { calibrateMarket, createCalibrations } from './calibrations.ts'
import { type ChainTime, createChainTimes, type SigningDeployment } from './chain-times.ts'
import { currenciesWithout } from './drift.ts'
import { isStale, localRatesFault, usdRateFault } from './freshness.ts'
import { readLocalRates } from './market/local-rates.ts'
import { openMarket, type Rates } from './market/open-market.ts'
import { createUsdRate, type UsdRate } from './market/usd-rate.ts'
import type { Backtest, Health, Quote, QuoteRequest, Values, ValuesRequest } from './messages.ts'
import { createModel, type ModelOptions } from './model.ts'
import { pairName } from './pair.ts'
import { openAttester } from './quotes/attest.ts'
import { createQuoter } from './quotes/quote.ts'
import { createSign } from './quotes/signing.ts'
import { createValuer } from './quotes/values.ts'
import { classify, type TierName, tierNames, tiers } from './tiers.ts'

export type EngineOptions = Rates & {
  /** The signing key; without it quotes are advisory. */
  readonly key: string | undefined
  /** The nonce of each signature; random unless given. */
  readonly makeNonce?: () => Hex
  /** The configured chains, which `health` reports. */
  readonly chainIds: readonly ChainId[]
  /** The only diamonds that quotes are signed for. */
  readonly deployments: readonly SigningDeployment[]
  /** Rejects publicly known keys, and does not sign on fallback or old rates. */
  readonly isProduction: boolean
  /** Reads stored calibrations; without it the engine calibrates all pairs itself. */
  readonly findSet: FindSet | undefined
  readonly usdRateUrl: string | undefined
  /** A file of interest rates by currency; undefined uses the bundled rates. */
  readonly localRatesFile: string | undefined
  readonly volMarkups: Readonly<Partial<Record<TierName, number>>>
  readonly maxStalenessDays: number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Logger
}

/**
 * Adds to the specification's fields: source and last day of a pair's history, and whether it is too old to sign on.
 */
type PairHealth = Health['pairs'][number] & {
  readonly source: string
  readonly lastClose: string
  readonly stale: boolean
}

export type EngineHealth = Pick<Health, 'pricingEngineSigner'> & {
  readonly usdRate: UsdRate
  readonly pairs: readonly PairHealth[]
  /** The conditions that prevent signed quotes; null without a key. */
  readonly signing: { readonly chains: readonly ChainTime[]; readonly rates: readonly string[] } | null
}

export type Engine = {
  quote(request: QuoteRequest): Promise<Quote>
  /** Values what is left of ranges that were bought earlier. */
  values(request: ValuesRequest): Promise<Values>
  /** What a range would have cost and paid at each month of the bundled history. */
  backtest(request: QuoteRequest, client: string): Promise<Backtest>
  health(): Promise<EngineHealth>
  /** The signer's address; null in advisory mode. */
  readonly signerAddress: string | null
  /**
   * Reads rates and stored calibrations again. When anything changed, calibrates the pairs without a stored
   * calibration.
   */
  refresh(): Promise<void>
  /** Compares the engine's clock with the chains it signs for, until `signal` aborts. */
  watchChains(signal: AbortSignal): Promise<void>
}

/** Warns of what the operator's settings leave out, or set without effect. */
const warnOfSettings = (settings: Pick<ModelOptions, 'localRates' | 'volMarkups'> & { readonly log: Logger }): void => {
  const { localRates, volMarkups, log } = settings
  const missing = currenciesWithout(localRates)
  if (missing.length > 0)
    log.warn(
      { missing },
      'pairs of these currencies are not quoted: add their interest rates to ENGINE_LOCAL_RATES_FILE',
    )
  for (const name of tierNames) {
    const { floor } = tiers[name]
    const markup = volMarkups[name] ?? 1
    if (floor > 0 && markup !== 1)
      log.warn(
        { tier: name, markup, floor },
        'ENGINE_VOL_MARKUPS has no effect while the marked-up volatility is below the floor of its tier',
      )
  }
}

/**
 * Opens the pricing engine: reads the rates, calibrates the pairs and reads the time of the chains. Throws for an
 * invalid key and for unreadable local rates. Logs rates that cannot be read, and chains for which no quote is signed.
 */
export const openEngine = async (options: EngineOptions): Promise<Engine> => {
  const { chainIds, findSet, volMarkups, maxStalenessDays, isProduction, now, log } = options
  const attester = openAttester(options)
  const signerAddress = attester?.address ?? null
  const localRates = await readLocalRates(options.localRatesFile)
  warnOfSettings({ localRates, volMarkups, log })
  const market = openMarket(options)
  const calibrations = createCalibrations()
  const fallback = { rate: localRates.rates.USD, recordDate: localRates.asOf }
  const usdRate = createUsdRate({ url: options.usdRateUrl, fallback, now, log })

  const readSet = findSet === undefined ? async () => null : createSetReader({ find: findSet, log })
  let set: CalibrationSet | null = null

  const refresh = async (): Promise<void> => {
    const [changed, newest] = [await market.refresh(), await readSet()]
    if (!changed && newest === set) return
    const stored = newest === null ? [] : fittingPairs(newest, market)
    const own = await calibrateMarket(market, stored)
    calibrations.replace(own, newest === null ? undefined : { ...newest, pairs: stored })
    set = newest
    log.info({ version: set?.version, stored: stored.length, own: own.length }, 'calibrated')
  }
  const chainTimes = createChainTimes(options)
  await Promise.all([refresh(), attester === null || chainTimes.readNewestBlocks()])

  const model = createModel({ market, calibrations, usdRate, localRates, volMarkups, maxStalenessDays, now })
  return {
    quote: createQuoter({ model, maxStalenessDays, isProduction, sign: createSign({ attester, chainTimes }), now }),
    values: createValuer({ model, now }),
    backtest: createBacktester({ model, localRates, volMarkups, now }),
    signerAddress,
    refresh,
    async watchChains(signal) {
      if (attester !== null) await chainTimes.watch(signal)
    },
    async health() {
      const pairs = market.pairs().flatMap((pair) => {
        const history = market.history(pair)
        const classification = classify(pair)
        if (history === undefined || classification === undefined) return []
        const { garchFrom, jumpsFrom, lastClose, version } = calibrations.of(pair, classification)
        return [
          {
            pair: pairName(pair),
            tier: classification.tier,
            useEmpiricalDrift: tiers[classification.tier].useEmpiricalDrift,
            historicalCloses: history.closes.length,
            lastClose: history.last.date,
            source: history.source,
            synthetic: history.synthetic,
            stale: isStale(history, now(), maxStalenessDays),
            calibration: { garchFrom, jumpsFrom, lastClose, version },
          },
        ]
      })
      const usd = await usdRate.read()
      const faults = isProduction
        ? [usdRateFault(usd, now(), maxStalenessDays), localRatesFault(localRates, now())]
        : []
      const signing = { chains: chainIds.map(chainTimes.of), rates: faults.flatMap((fault) => fault ?? []) }
      return { usdRate: usd, pricingEngineSigner: signerAddress, pairs, signing: attester === null ? null : signing }
    },
  }
}

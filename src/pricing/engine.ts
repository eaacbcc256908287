import type { Logger } from '../lib/log.ts'
import { openAttester } from './attest.ts'
import { calibrateMarket, createCalibrations } from './calibrations.ts'
import type { Health, Quote, QuoteRequest } from './contract.ts'
import { bundledFeed } from './market/bundled.ts'
import { folderFeed } from './market/folder.ts'
import { ecbFeed, fredFeed } from './market/live.ts'
import { readLocalRates } from './market/local-rates.ts'
import { createMarket, type Feed } from './market/market.ts'
import { syntheticFeed } from './market/synthetic.ts'
import { createUsdRate } from './market/usd-rate.ts'
import { pairName } from './pair.ts'
import { createQuoter, isStale } from './quote.ts'
import { classify, type TierName, tiers } from './tiers.ts'

export type EngineOptions = {
  /** The signing key itself or a file with it; without either quotes are advisory. */
  readonly key: string | undefined
  readonly keyFile: string | undefined
  /** A folder of CSV files of rates. */
  readonly ratesFolder: string | undefined
  /** Live publishers; asked only where a URL is given. */
  readonly ecbUrl: string | undefined
  readonly fredUrl: string | undefined
  readonly usdRateUrl: string | undefined
  /** Interest rates by currency; those that come with the service where none is given. */
  readonly localRatesFile: string | undefined
  /** Adds the made-up history of USD/GHS. */
  readonly synthetic: boolean
  readonly volMarkups: Readonly<Partial<Record<TierName, number>>>
  readonly maxStalenessDays: number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Logger
}

export type Engine = {
  quote(request: QuoteRequest): Promise<Quote>
  health(): Promise<Health>
  /** Who signs; null in advisory mode. */
  readonly signerAddress: string | null
  /** Reads rates again, and calibrates when any changed. */
  refresh(): Promise<void>
}

const feedsOf = (options: EngineOptions): Feed[] => {
  const { ratesFolder, ecbUrl, fredUrl, synthetic, now, log } = options
  return [
    ...(ratesFolder === undefined ? [] : [folderFeed({ folder: ratesFolder, log })]),
    ...(ecbUrl === undefined ? [] : [ecbFeed({ url: ecbUrl, now })]),
    ...(fredUrl === undefined ? [] : [fredFeed({ url: fredUrl, now })]),
    bundledFeed(),
    ...(synthetic ? [syntheticFeed({ now })] : []),
  ]
}

/**
 * The pricing engine with its rates read and its pairs calibrated. Throws for a key that is none and for unreadable local rates; rates that
 * cannot be had are warned of.
 */
export const openEngine = async (options: EngineOptions): Promise<Engine> => {
  const { volMarkups, maxStalenessDays, now, log } = options
  const attester = await openAttester(options)
  const localRates = await readLocalRates(options.localRatesFile)
  const market = createMarket({ feeds: feedsOf(options), now, log })
  const calibrations = createCalibrations()
  const fallback = { rate: localRates.rates.USD, recordDate: localRates.asOf }
  const usdRate = createUsdRate({ url: options.usdRateUrl, fallback, now, log })

  const refresh = async (): Promise<void> => {
    if (!(await market.refresh())) return
    const pairs = await calibrateMarket(market)
    calibrations.replace(pairs)
    log.info({ pairs: pairs.length }, 'calibrated')
  }
  await refresh()

  return {
    quote: createQuoter({
      market,
      calibrations,
      usdRate,
      localRates,
      volMarkups,
      maxStalenessDays,
      attester,
      now,
    }),
    signerAddress: attester?.address ?? null,
    refresh,
    async health() {
      const pairs = market.pairs().flatMap((pair) => {
        const history = market.history(pair)
        const classification = classify(pair)
        if (history === undefined || classification === undefined) return []
        const { garchFrom, jumpsFrom, lastClose } = calibrations.of(pair, classification)
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
            calibration: { garchFrom, jumpsFrom, lastClose },
          },
        ]
      })
      return { usdRate: await usdRate.read(), pricingEngineSigner: attester?.address ?? null, pairs }
    },
  }
}

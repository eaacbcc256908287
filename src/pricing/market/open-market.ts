import type { Logger } from '../../lib/log.ts'
import { bundledFeed } from './bundled.ts'
import { folderFeed } from './folder.ts'
import { ecbFeed, fredFeed } from './live.ts'
import { createMarket, type Market } from './market.ts'
import { syntheticFeed } from './synthetic.ts'

/** Where a market's rates are from, beside the history that comes with the service. */
export type Rates = {
  /** A folder of CSV files of rates. */
  readonly ratesFolder: string | undefined
  /** Live publishers; asked only where a URL is given. */
  readonly ecbUrl: string | undefined
  readonly fredUrl: string | undefined
  /** Adds the made-up history of USD/GHS. */
  readonly synthetic: boolean
}

/** The market of the configured rates, the operator's before the bundled ones; empty until its first `refresh`. */
export const openMarket = (options: Rates & { readonly now: () => number; readonly log: Logger }): Market => {
  const { ratesFolder, ecbUrl, fredUrl, synthetic, now, log } = options
  const feeds = [
    ...(ratesFolder === undefined ? [] : [folderFeed({ folder: ratesFolder, log })]),
    ...(ecbUrl === undefined ? [] : [ecbFeed({ url: ecbUrl, now, log })]),
    ...(fredUrl === undefined ? [] : [fredFeed({ url: fredUrl, now, log })]),
    bundledFeed(),
    ...(synthetic ? [syntheticFeed({ now })] : []),
  ]
  return createMarket({ feeds, now, log })
}

import type { Logger } from '../../lib/observe/log.ts'
import { bundledFeed } from './bundled.ts'
import { folderFeed } from './folder.ts'
import { ecbFeed, fredFeed } from './live.ts'
import { createMarket, type Feed, type Market } from './market.ts'
import { syntheticFeed } from './synthetic.ts'

/** The origins of a market's rates, in addition to the bundled history. */
export type Rates = {
  /** A folder of CSV files of rates. */
  readonly ratesFolder: string | undefined
  /** URLs of live publishers; a publisher without a URL is not used. */
  readonly ecbUrl: string | undefined
  readonly fredUrl: string | undefined
  /** Adds the synthetic histories of USD/GHS and of the other pairs of the sandbox. */
  readonly synthetic: boolean
}

/** The configured publishers. */
export const publishers = (
  options: Pick<Rates, 'ecbUrl' | 'fredUrl'> & { readonly now: () => number; readonly log: Logger },
): readonly Feed[] => {
  const { ecbUrl, fredUrl, now, log } = options
  return [
    ...(ecbUrl === undefined ? [] : [ecbFeed({ url: ecbUrl, now, log })]),
    ...(fredUrl === undefined ? [] : [fredFeed({ url: fredUrl, now, log })]),
  ]
}

/** The market of the configured rates, with the operator's before the bundled ones; empty until its first `refresh`. */
export const openMarket = (options: Rates & { readonly now: () => number; readonly log: Logger }): Market => {
  const { ratesFolder, synthetic, now, log } = options
  const feeds = [
    ...(ratesFolder === undefined ? [] : [folderFeed({ folder: ratesFolder, log })]),
    ...publishers(options),
    bundledFeed(),
    ...(synthetic ? [syntheticFeed({ now })] : []),
  ]
  return createMarket({ feeds, now, log })
}

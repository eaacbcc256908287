import type { Chain } from '../chain/chain.ts'
import { createTokens, type Tokens } from '../chain/tokens.ts'
import { createListings, type Listings } from '../db/listings.ts'
import type { Database } from '../db/pool.ts'
import { createPortfolios, type Portfolios } from '../db/portfolios.ts'
import { createRenderer, type Renderer } from '../db/rendering.ts'
import type { ChainId, Deployment } from '../protocol/chains.ts'
import { createFinalBlock, type FinalBlock } from './finality.ts'

/** What lists of whole records are made from. */
export type Lists = {
  readonly listings: Listings
  readonly portfolios: Portfolios
  readonly tokens: Tokens
  readonly finalBlock: FinalBlock
  /** Renders a chain's rows. Throws a RangeError for a chain that is not configured. */
  renderer(chainId: ChainId): Renderer
}

/** Opens the lists of a database and of the chains it indexes; nothing is asked yet. */
export const createLists = (deps: {
  readonly database: Pick<Database, 'rows'>
  readonly chains: ReadonlyMap<ChainId, Chain>
  /** Makes the renderer of a deployment; this release's unless given. */
  readonly rendererOf?: (deployment: Deployment) => Renderer
}): Lists => {
  const { rendererOf = createRenderer } = deps
  const renderers = new Map([...deps.chains].map(([chainId, { deployment }]) => [chainId, rendererOf(deployment)]))
  return {
    listings: createListings(deps.database),
    portfolios: createPortfolios(deps.database),
    tokens: createTokens(deps.chains),
    finalBlock: createFinalBlock({ chains: deps.chains, now: Date.now }),
    renderer(chainId) {
      const renderer = renderers.get(chainId)
      if (renderer === undefined) throw new RangeError(`chain ${chainId} is not configured`)
      return renderer
    },
  }
}

import type { Chain } from '../../chain/chain.ts'
import { createTokens } from '../../chain/tokens.ts'
import type { Database } from '../../db/pool.ts'
import { createHeldTokens } from '../../db/queries/held-tokens.ts'
import { createListings } from '../../db/queries/listings.ts'
import { createPortfolios } from '../../db/queries/portfolios.ts'
import { createRefreshState } from '../../db/queries/refresh-state.ts'
import { createRenderer, type Renderer } from '../../db/rendering.ts'
import type { PricingClient } from '../../pricing/client.ts'
import type { ChainId, Deployment } from '../../protocol/chains.ts'
import type { FinalityCache } from '../freshness/finality.ts'
import type { ReadSources } from '../read.ts'

/** Makes the queries and renderers of lists of whole records. Reads nothing yet. */
export const createLists = (deps: {
  readonly database: Pick<Database, 'rows'>
  readonly chains: ReadonlyMap<ChainId, Chain>
  /** Makes the renderer of a deployment; the one of this release by default. */
  readonly rendererOf?: (deployment: Deployment) => Renderer
}) => {
  const { rendererOf = createRenderer } = deps
  const renderers = new Map([...deps.chains].map(([chainId, { deployment }]) => [chainId, rendererOf(deployment)]))
  return {
    listings: createListings(deps.database),
    portfolios: createPortfolios(deps.database),
    heldTokens: createHeldTokens(deps.database),
    refreshState: createRefreshState(deps.database),
    tokens: createTokens(deps.chains),
    /** Returns the renderer of a chain's rows. Throws a RangeError for a chain that is not configured. */
    renderer(chainId: ChainId): Renderer {
      const renderer = renderers.get(chainId)
      if (renderer === undefined) throw new RangeError(`chain ${chainId} is not configured`)
      return renderer
    },
  }
}

type Lists = ReturnType<typeof createLists>

/** The sources of lists of whole records. */
export type ListSources = Pick<ReadSources, 'chains' | 'maxLagSeconds'> & {
  readonly lists: Lists
  readonly pricing: Pick<PricingClient, 'values'>
  readonly finality: Pick<FinalityCache, 'finalBlock'>
}

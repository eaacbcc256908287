import type { Chain } from '../chain/chain.ts'
import { createListings, type Listings } from '../db/listings.ts'
import type { Database } from '../db/pool.ts'
import { createPortfolios, type Portfolios } from '../db/portfolios.ts'
import type { ChainId } from '../protocol/chains.ts'
import { createFinalBlock, type FinalBlock } from './finality.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** What lists of whole records are made from. */
export type Lists = {
  readonly listings: Listings
  readonly portfolios: Portfolios
  readonly tokens: Tokens
  readonly finalBlock: FinalBlock
}

/** Opens the lists of a database and of the chains it indexes; nothing is asked yet. */
export const createLists = (deps: {
  readonly database: Pick<Database, 'rows'>
  readonly chains: ReadonlyMap<ChainId, Chain>
}): Lists => ({
  listings: createListings(deps.database),
  portfolios: createPortfolios(deps.database),
  tokens: createTokens(deps.chains),
  finalBlock: createFinalBlock({ chains: deps.chains, now: Date.now }),
})

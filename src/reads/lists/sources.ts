import type { Chain } from '../../chain/chain.ts'
import { createTokens } from '../../chain/tokens.ts'
import type { Database } from '../../db/pool.ts'
import { createActivity } from '../../db/queries/activity.ts'
import { createHeldTokens } from '../../db/queries/held-tokens.ts'
import { createLedgerTransactions } from '../../db/queries/ledger-transactions.ts'
import { createListings } from '../../db/queries/listings.ts'
import { createPortfolios } from '../../db/queries/portfolios.ts'
import { createRefreshState } from '../../db/queries/refresh-state.ts'
import { createTotals } from '../../db/queries/totals.ts'
import type { PricingClient } from '../../pricing/client.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { knownTokens } from '../../protocol/tokens.ts'
import type { FinalityCache } from '../freshness/finality.ts'
import type { ReadSources } from '../read.ts'

/** Makes the queries of lists of whole records. Reads nothing yet. */
export const createLists = (deps: {
  readonly database: Pick<Database, 'run' | 'rows'>
  readonly chains: ReadonlyMap<ChainId, Chain>
}) => {
  return {
    listings: createListings(deps.database),
    activity: createActivity(deps.database),
    portfolios: createPortfolios(deps.database),
    totals: createTotals(deps.database),
    heldTokens: createHeldTokens(deps.database),
    refreshState: createRefreshState(deps.database),
    ledgerTransactions: createLedgerTransactions(deps.database),
    tokens: createTokens(deps.chains),
    token: knownTokens([...deps.chains.values()].map(({ deployment }) => deployment)),
  }
}

type Lists = ReturnType<typeof createLists>

/** The sources of lists of whole records. */
export type ListSources = Pick<ReadSources, 'chains' | 'history' | 'maxLagSeconds'> & {
  readonly lists: Lists
  readonly pricing: Pick<PricingClient, 'values'>
  readonly finality: Pick<FinalityCache, 'finalBlock' | 'isFinal'>
}

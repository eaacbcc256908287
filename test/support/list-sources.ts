import type { ListingRows } from '../../src/db/queries/listings.ts'
import type { PortfolioRows } from '../../src/db/queries/portfolios.ts'
import type { Tip } from '../../src/db/queries/tips.ts'
import { UNIT } from '../../src/db/rendering.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import type { ListSources } from '../../src/reads/listings/sources.ts'
import { blockOf, seedDeployment } from './seed-index.ts'

/* Sources of lists without a database and without nodes: a test gives the rows and sees the queries. */

type Lists = ListSources['lists']
type PageQuery = Parameters<Lists['listings']['page']>[0]
type IdsQuery = Parameters<Lists['listings']['byIds']>[0]
type PortfolioQuery = Parameters<Lists['portfolios']['of']>[0]

/** A chain's tip with a recent heartbeat at its block. */
export const tipOf = (chainId: ChainId, own: Partial<Tip> = {}): Tip => ({
  chainId,
  block: blockOf(100n),
  head: { timestamp: blockOf(100n).timestamp, isQuiet: false, ageSeconds: 1 },
  rollback: 3n,
  reorged: false,
  isRefreshing: false,
  ...own,
})

/** A row as the database returns it. */
export const listRow = (chainId: ChainId, id: number, key?: number): string =>
  `${[chainId, id, ...(key === undefined ? [] : [key])].join()}${UNIT}${JSON.stringify({ chainId, id })}`

type Fakes = {
  readonly page?: (query: PageQuery) => ListingRows
  readonly byIds?: (query: IdsQuery) => ListingRows
  readonly portfolios?: (query: PortfolioQuery) => PortfolioRows
  readonly finalBlock?: (chainId: ChainId, finality: string) => StoredBlock | null
}

/** Sources over fakes, and the queries that they received. */
export const listSources = (fakes: Fakes) => {
  const pages: PageQuery[] = []
  const byIds: IdsQuery[] = []
  const portfolios: PortfolioQuery[] = []
  const unused = (): never => {
    throw new Error('this query is not expected')
  }
  const deployments = [seedDeployment(8453), { ...seedDeployment(56), profile: 'deployed' as const }]
  const sources = {
    chains: new Map(deployments.map((deployment) => [deployment.chainId, { deployment }])),
    maxLagSeconds: 60,
    lists: {
      renderer: (chainId: ChainId) => ({ key: BigInt(chainId), token: () => null }),
      tokens: {
        ask: async (chainId: ChainId, token: string) => ({ token, symbol: `on ${chainId}`, decimals: 6 }),
      },
      listings: {
        page: async (query: PageQuery) => {
          pages.push(query)
          return (fakes.page ?? unused)(query)
        },
        byIds: async (query: IdsQuery) => {
          byIds.push(query)
          return (fakes.byIds ?? unused)(query)
        },
      },
      portfolios: {
        of: async (query: PortfolioQuery) => {
          portfolios.push(query)
          return (fakes.portfolios ?? unused)(query)
        },
      },
    },
    finality: {
      finalBlock: async (chainId: ChainId, finality: string) => fakes.finalBlock?.(chainId, finality) ?? null,
    },
    pricing: { values: unused },
  } as unknown as ListSources
  return { sources, pages, byIds, portfolios }
}

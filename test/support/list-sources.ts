import type { ListingRows } from '../../src/db/queries/listings.ts'
import type { Holding, PortfolioRows } from '../../src/db/queries/portfolios.ts'
import type { ListRow } from '../../src/db/queries/rows.ts'
import type { Tip } from '../../src/db/queries/tips.ts'
import type { StoredBlock } from '../../src/db/stored.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { type Kind, perKind } from '../../src/protocol/entities.ts'
import type { RecordViews } from '../../src/protocol/records.ts'
import { createLists, type ListSources } from '../../src/reads/lists/sources.ts'
import { blockOf, seedDeployment, seedDeposit, seedEvent, seedPosition, seedToken } from './seed-index.ts'

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

const plan = { token: seedToken, wallets: 10, events: 3, rowsABlock: 5 } as const

const viewsOf: { readonly [K in Kind]: (id: number, eventId: bigint) => RecordViews[K] } = {
  event: (id) => seedEvent(id, plan).seen,
  deposit: (id, eventId) => {
    const { deposit, pending } = seedDeposit(id, plan).seen
    return { deposit: { ...deposit, eventId }, pending }
  },
  position: (id, eventId) => ({ position: { ...seedPosition(id, plan).seen.position, eventId } }),
}

/** A row of an observed entity as the index has it. Deposits and positions are of event 1. */
export const listRow = <K extends Kind>(
  kind: K,
  chainId: ChainId,
  id: number,
  own: Partial<ListRow<K>> = {},
): ListRow<K> => {
  const { eventId = kind === 'event' ? String(id) : '1' } = own
  return {
    ...{ chainId, id: String(id), eventId, expiryDate: undefined },
    ...{ blockNumber: '7', blockTimestamp: '1800000014', txHash: null, logIndex: null },
    ...{ settledBlock: null, settledTx: null, withdrawnAt: null, withdrawnTx: null, claimedAt: null, claimedTx: null },
    views: viewsOf[kind](id, BigInt(eventId)),
    ...{ token: seedToken, symbol: 'USDC', decimals: 6, feeRate: 'rates_unknown' },
    event: () => ({ ...seedEvent(Number(eventId), plan).seen, time: blockOf(70n).timestamp }),
    ...own,
  }
}

/** Holdings as the statement returns them. Here the only cell of each is its place. */
export const heldRows = (
  given: Readonly<Partial<Record<Kind, readonly Holding[]>>>,
): Pick<PortfolioRows, 'holdings' | 'parse'> => ({
  holdings: perKind((kind) => (given[kind] ?? []).map((_, at) => [String(at)])),
  parse(kind, [at]) {
    const holding = given[kind]?.[Number(at)]
    if (holding === undefined) throw new Error(`no holding ${at}`)
    return holding
  },
})

/**
 * A chain's node that returns outputs of views by their names, whatever their arguments, at `block`; `called` has each
 * call with its first argument.
 */
export const viewsNode = (outcomes: Readonly<Record<string, unknown>>, block = blockOf(70n)) => {
  const called: string[] = []
  return {
    called,
    pinned: async (run: (block: object) => unknown) => run(block),
    readAt: async (_: object, views: readonly { readonly name: string; readonly data: string }[]) =>
      views.map(({ name, data }) => {
        // The id follows the selector.
        called.push(`${name} ${BigInt(`0x${data.slice(10, 74)}`)}`)
        return { ok: true, value: outcomes[name] }
      }),
  }
}

type Fakes = {
  readonly page?: (query: PageQuery) => ListingRows
  readonly byIds?: (query: IdsQuery) => ListingRows
  readonly one?: (...of: Parameters<Lists['listings']['one']>) => ListRow | null
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
  const chains = new Map(
    deployments.map((deployment) => [deployment.chainId, { chainId: deployment.chainId, deployment }]),
  ) as unknown as ListSources['chains']
  const sources = {
    chains,
    maxLagSeconds: 60,
    lists: {
      token: createLists({ database: { run: unused, rows: unused }, chains }).token,
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
        one: async (...of: Parameters<Lists['listings']['one']>) => (fakes.one ?? unused)(...of),
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

/** What the rows of entities show whose event is not settled, which are not withdrawn and not claimed. */
export const endings = {
  event: { settledBlock: null, settledTx: null },
  deposit: { withdrawnAt: null, withdrawnTx: null },
  position: { claimedAt: null, claimedTx: null },
} as const

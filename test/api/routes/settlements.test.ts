import { expect, test } from 'vitest'
import { settlementRoutes } from '../../../src/api/routes/settlements.ts'
import type { FeedSettlement } from '../../../src/db/queries/settlements.ts'
import { blockAt } from '../../support/fake-changes.ts'
import { heldRows, listRow, listSources, tipOf } from '../../support/list-sources.ts'
import { walletOf } from '../../support/seed-index.ts'
import { fakeTurns, fakeWaits, indexedQueries, openCache, openRoutes } from './route-app.ts'

/* The settlements of some wallets, with what they can claim, over an index at block 50 of both chains. */

const hash = `0x${'ab'.repeat(32)}` as const
const wallet = walletOf(1)

const stored = (seq: number, chainId: number, eventId: bigint): FeedSettlement =>
  ({
    ...{ seq, type: 'settled', chainId, eventId, settledAt: 9n, triggered: true },
    ...{ settlementPrice: 5n, blockNumber: 7n, blockHash: hash, txHash: null, isFinal: false },
  }) as FeedSettlement

/** Events 4 and 5 of both chains, from each of which the wallet can claim. */
const open = async (items: readonly FeedSettlement[], heads: Readonly<Record<number, number>> = {}) => {
  const fake = listSources({
    portfolios: ({ chains }) => {
      const event = chains.flatMap(({ chainId }) =>
        [5, 4].map((id) => ({
          ...{ wallet: 0, feeRate: 'rates_unknown' as const, isClaimable: true, figures: [BigInt(chainId + id)] },
          row: listRow('event', chainId, id),
        })),
      )
      const tips = chains.map(({ chainId }) => tipOf(chainId))
      return { tips, ...heldRows({ event }), sums: [] }
    },
  })
  const settlements = {
    after: async (seq: number, _: object, limit: number) => items.filter((it) => it.seq > seq).slice(0, limit),
    position: async () => 0,
    isFuture: async () => false,
  }
  const { turns, taken } = fakeTurns()
  let waited: readonly string[] = []
  const app = await openRoutes(async (it) => {
    const { index, cache } = await openCache(it)
    const fakes = fakeWaits(index)
    waited = fakes.waited
    const chainOf = (chainId: number) => ({ head: async () => blockAt(heads[chainId] ?? 50) })
    const chains = new Map([8453, 56].map((chainId) => [chainId, chainOf(chainId)]))
    // The index of one chain is as old as its block.
    for (const chainId of [8453, 56]) index.outdated.add(chainId)
    const sources = { changes: index.changes, settlements, queries: indexedQueries, chains }
    const streams = { latest: { close: () => {} }, finalized: { close: () => {} } }
    const options = { sources, lists: fake.sources, waits: fakes.waits, turns, cache, streams }
    await it.register(settlementRoutes, options as never)
  })
  const ask = async (url: string) => {
    const { statusCode: status, headers, body } = await app.inject(url)
    return { status, headers, ...JSON.parse(body) }
  }
  return { ask, taken, waited: () => waited, portfolios: fake.portfolios }
}

type Item = { readonly claimables?: readonly { readonly chainId: number; readonly id: number }[] }
const claimsOf = (data: readonly Item[]) =>
  data.map(({ claimables }) => claimables?.map(({ chainId, id }) => `${chainId}/${id}`))

test('each settlement has the claims of its own event on its own chain', async () => {
  const { ask, taken, waited, portfolios } = await open([stored(1, 8453, 4n), stored(2, 56, 5n), stored(3, 56, 9n)])
  const { status, data, meta } = await ask(`/hedge/settlements?wallet=${wallet}`)
  expect([status, claimsOf(data), meta.claimablesComplete]).toEqual([200, [['8453/4'], ['56/5'], []], true])
  expect(taken).toEqual(['page 127.0.0.1', 'long 127.0.0.1'])
  // The claims are those after each of the settlements, once for each chain.
  expect(waited()).toEqual(['8453 127.0.0.1', '56 127.0.0.1'])
  expect(portfolios[0]).toMatchObject({ wallets: [wallet], chains: [{ chainId: 8453 }, { chainId: 56 }] })
})

test('a page without a settlement is complete, and no portfolio is read for it', async () => {
  const { ask, taken, waited } = await open([])
  const { data, meta } = await ask(`/hedge/settlements?wallet=${wallet}`)
  expect([data, meta.claimablesComplete, taken, waited()]).toEqual([[], true, ['page 127.0.0.1'], []])
})

test('settlements without a wallet have no claims', async () => {
  const { ask, taken } = await open([stored(1, 8453, 4n)])
  const { data, meta } = await ask('/hedge/settlements')
  expect([claimsOf(data), meta.claimablesComplete, taken]).toEqual([[undefined], undefined, ['page 127.0.0.1']])
})

test('a page of both chains is as far behind as the chain that is furthest behind', async () => {
  const { ask } = await open([stored(1, 8453, 4n)], { 8453: 53, 56: 57 })
  const { headers, meta } = await ask('/hedge/settlements')
  expect(meta.asOf.map(({ lagSeconds }: { readonly lagSeconds: number }) => lagSeconds)).toEqual([3, 7])
  expect(headers['x-index-lag']).toBe('7')
})

import { describe, expect, test } from 'vitest'
import { createCsvAnswers } from '../../../src/api/csv/answers.ts'
import { listingRoutes } from '../../../src/api/routes/listings.ts'
import { portfolioRoutes } from '../../../src/api/routes/portfolio.ts'
import { createStreamCapacity } from '../../../src/api/streams/shared.ts'
import type { ListingRows } from '../../../src/db/queries/listings.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import type { Kind } from '../../../src/protocol/entities.ts'
import { blockAt } from '../../support/fake-changes.ts'
import { heldRows, listRow, listSources, tipOf } from '../../support/list-sources.ts'
import { blockOf, seedDeployment, walletOf } from '../../support/seed-index.ts'
import { fakeTurns, fakeWaits, openCache, openRoutes } from './route-app.ts'

/* Lists and portfolios over rows of a fake database: which request is read, in which turn, and what may be kept. */

const hash = `0x${'5f'.repeat(32)}`
const [one, two] = [walletOf(1), walletOf(2)]

type Options = {
  readonly rows?: number
  /** Chains whose observations a rollback deleted, at the first read only. */
  readonly refreshing?: readonly number[]
  readonly heldTokens?: readonly object[]
  /** Whether no node answers about balances. */
  readonly isDown?: boolean
}

const open = async ({ rows = 3, refreshing = [], isDown = false }: Options = {}) => {
  let reads = 0
  const tipsOf = (chainIds: readonly number[]) => {
    reads += 1
    return chainIds.map((chainId) =>
      tipOf(chainId, {
        ...{ block: blockOf(50n), head: { timestamp: blockOf(50n).timestamp, isQuiet: false, ageSeconds: 1 } },
        isRefreshing: reads === 1 && refreshing.includes(chainId),
      }),
    )
  }
  const page = ({
    kind,
    queries,
    limit,
  }: {
    readonly kind: Kind
    readonly queries: readonly { chainId: number }[]
    limit: number
  }): ListingRows => {
    const all = Array.from({ length: rows }, (_, at) => listRow(kind, queries[0]?.chainId ?? 0, at + 1))
    return { tips: tipsOf(queries.map(({ chainId }) => chainId)), rows: all.slice(0, limit), total: null }
  }
  const fake = listSources({
    page,
    portfolios: ({ chains, wallets }) => ({
      tips: tipsOf(chains.map(({ chainId }) => chainId)),
      ...heldRows({
        event: wallets.map((_, wallet) => ({
          ...{ wallet, feeRate: 'rates_unknown', isClaimable: false, figures: [0n] },
          row: listRow('event', chains[0]?.chainId ?? 0, 7),
        })),
      }),
      sums: [],
    }),
  })
  const balances: unknown[][] = []
  for (const [chainId, chain] of Object(fake.sources).chains)
    Object.assign(chain, {
      deployment: seedDeployment(chainId),
      head: async () => blockAt(50),
      pinned: (run: (block: object) => unknown) =>
        isDown ? Promise.reject(unavailable('no node is in reach')) : run(blockAt(50)),
      async balances(_: object, holdings: readonly { readonly wallet: string; readonly tokens: readonly string[] }[]) {
        balances.push([chainId, holdings.map(({ wallet }) => wallet)])
        return holdings.map(({ tokens }) => ({
          coins: 5n,
          amounts: tokens.map(() => ({ balance: 6n, allowance: 7n })),
        }))
      },
    })
  Object.assign(Object(fake.sources).lists, { heldTokens: async () => [] })
  const { turns, taken } = fakeTurns()
  let opened: (Awaited<ReturnType<typeof openCache>> & ReturnType<typeof fakeWaits>) | undefined
  const app = await openRoutes(async (it) => {
    const cached = await openCache(it)
    opened = { ...cached, ...fakeWaits(cached.index, { 8453: 50 }) }
    const csv = createCsvAnswers({ capacity: createStreamCapacity(9, 9), limit: null })
    const options = { sources: fake.sources, waits: opened.waits, turns, cache: cached.cache, csv }
    await it.register(listingRoutes, options)
    await it.register(portfolioRoutes, options)
  })
  if (opened === undefined) throw new Error('the app has no cache')
  const send = async (url: string, headers: Record<string, string> = {}, payload?: object) => {
    const {
      statusCode: status,
      headers: sent,
      body,
    } = await app.inject({
      ...{ url, headers, method: payload === undefined ? 'GET' : 'POST' },
      ...(payload && { payload }),
    })
    return { status, headers: sent, ...(body === '' ? {} : JSON.parse(body)) }
  }
  return { send, taken, balances, reads: () => reads, pages: fake.pages, portfolios: fake.portfolios, ...opened }
}

describe.each([
  ['/hedge/events?poolOpen=true', 'events'],
  ['/hedge/positions?chainId=8453&claimable=true', 'positions'],
  [`/wallets/${one}/portfolio`, 'portfolio'],
])('%s', (url, name) => {
  test('is read in the turn of a page, with a tag and the headers of the index', async () => {
    const { send, taken, reads } = await open()
    const { status, headers } = await send(url)
    expect([status, taken, reads()]).toEqual([200, ['page 127.0.0.1'], 1])
    expect(headers).toMatchObject({
      ...{ 'x-data-source': 'database', 'cache-control': 'public, no-cache', etag: expect.stringMatching(/^W\//) },
      'content-type': 'application/json; charset=utf-8',
    })
    expect(headers['x-block-number']).toBe(name === 'positions' ? '50' : undefined)
  })

  test('is not read again for a client with its tag until something changes', async () => {
    const { send, reads, index } = await open()
    const { headers } = await send(url)
    const held = { 'if-none-match': String(headers.etag) }
    expect([(await send(url, held)).status, reads()]).toEqual([304, 1])
    index.change(101, { chainIds: [8453], keys: ['8453 *'] })
    const keys = ['8453 events', '8453 positions', `8453 wallet:${one.toLowerCase()}`]
    index.change(101, { chainIds: [8453], keys })
    expect([(await send(url, held)).status, reads()]).toEqual([200, 2])
  })

  test('is cached for a second, because its body has the lag of the index', async () => {
    const { send, reads, clock } = await open()
    for (const [ms, count] of [
      [0, 1],
      [1_000, 1],
      [1_001, 2],
    ] as const) {
      clock.ms = ms
      await send(url)
      expect([ms, reads()]).toEqual([ms, count])
    }
  })

  test('is read again after a rollback, once its observations are there', async () => {
    const { send, reads, waited } = await open({ refreshing: [8453] })
    expect((await send(url)).status).toBe(200)
    expect([reads(), waited]).toEqual([2, ['8453 127.0.0.1']])
  })

  test('after a transaction waits for it and its observations, and reports that it reverted', async () => {
    const { send, waited, mined } = await open()
    mined.set(hash, { block: 50n, isReverted: true, isReached: true })
    const [path, query = ''] = url.split('?')
    const after = `${path}?${query}${query.includes('chainId') ? '' : '&chainId=8453'}&afterTx=${hash}`
    const { status, headers, meta } = await send(after)
    expect([status, headers['x-transaction'], meta.transaction, waited]).toEqual([
      ...[200, 'reverted', 'reverted'],
      ['8453 127.0.0.1'],
    ])
    const { status: late, error } = await send(`${path}?chainId=8453&minBlock=51`)
    expect([late, error.message]).toEqual([503, 'block 51 of chain 8453 is not indexed yet: the index is at block 50'])
  })
})

describe('a list', () => {
  test('is a page with the link to the next one', async () => {
    const { send, pages } = await open()
    const { data, meta, headers } = await send('/hedge/positions?chainId=8453&limit=2')
    expect([data, meta.limit, meta.hasMore, meta.asOf.length]).toEqual([
      ...[[1, 2].map((id) => expect.objectContaining({ chainId: 8453, id })), 2, true],
      1,
    ])
    expect(headers.link).toBe(`<?chainId=8453&limit=2&cursor=${encodeURIComponent(meta.nextCursor)}>; rel="next"`)
    expect(pages[0]).toMatchObject({ limit: 3 })
    const whole = await send('/hedge/positions?chainId=8453&limit=3')
    expect([whole.meta.nextCursor, whole.headers.link]).toEqual([null, undefined])
  })

  test('whose rows change with the time has no tag, and with the rates of the engine it must not be stored', async () => {
    const { send } = await open({ rows: 0 })
    for (const [query, cacheControl] of [
      ['state=open', 'public, no-cache'],
      ['finality=latest', 'public, no-cache'],
      ['include=value', 'no-store'],
      ['include=stale-value', 'no-store'],
    ] as const) {
      const { status, headers } = await send(`/hedge/${query === 'state=open' ? 'events' : 'positions'}?${query}`)
      expect([query, status, headers['cache-control'], headers.etag !== undefined]).toEqual([
        ...[query, 200, cacheControl],
        query === 'finality=latest',
      ])
    }
  })

  test('has to be as new as the request requires', async () => {
    const { send, index } = await open()
    index.reach({ chainId: 8453, block: blockAt(60), heartbeat: null })
    // The index reached block 60, and the page was read at block 50.
    expect((await send('/hedge/events?chainId=8453&minBlock=60')).status).toBe(503)
    expect((await send('/hedge/events?chainId=8453&minBlock=50')).status).toBe(200)
  })
})

describe('the portfolio of a wallet', () => {
  const url = `/wallets/${one}/portfolio`

  test('is of the chains, the state and the records that the request names', async () => {
    const { send, portfolios } = await open()
    const { data } = await send(`${url}?chainId=56&state=all&include=event`)
    expect([data.wallet, data.chains.length, data.events]).toEqual([
      one,
      1,
      [expect.objectContaining({ id: 7, chainId: 56 })],
    ])
    expect(portfolios[0]).toMatchObject({ wallets: [one], chains: [{ chainId: 56 }], include: ['event'] })
    await send(url)
    expect(portfolios[1]).toMatchObject({ wallets: [one], include: [] })
    expect(portfolios[1]?.chains.map(({ chainId }) => chainId)).toEqual([8453, 56])
  })

  test.each([
    ['', false],
    ['?include=event', true],
  ])('%s depends on every event: %s', async (query, depends) => {
    const { send, index } = await open()
    const { headers } = await send(url + query)
    index.change(101, { chainIds: [8453], keys: ['8453 events'] })
    const { status } = await send(url + query, { 'if-none-match': String(headers.etag) })
    expect(status).toBe(depends ? 200 : 304)
  })

  test.each([
    ['event', 'public, no-cache', false],
    ['value', 'no-store', false],
    ['balances', 'no-store', true],
    ['event,balances', 'no-store', true],
  ])('with %s is %s', async (include, cacheControl, hasBalances) => {
    const { send, balances, taken } = await open()
    const { status, headers, data } = await send(`${url}?include=${include}&chainId=56`)
    expect([status, headers['cache-control'], headers.etag !== undefined]).toEqual([
      200,
      cacheControl,
      include === 'event',
    ])
    expect(balances).toEqual(hasBalances ? [[56, [one]]] : [])
    expect(data.balances?.chains[0].native.balance).toBe(hasBalances ? '5' : undefined)
    expect(taken).toEqual(Array(hasBalances ? 2 : 1).fill('page 127.0.0.1'))
  })

  test('has to be as new as the request requires', async () => {
    const { send, index } = await open()
    index.reach({ chainId: 8453, block: blockAt(60), heartbeat: null })
    expect((await send(`${url}?chainId=8453&minBlock=60`)).status).toBe(503)
  })
})

describe('the portfolios of several wallets', () => {
  const body = { wallets: [one, two, one], chainIds: [56] }

  test('are in the order of the request, in the turn of long reads, and are not cached', async () => {
    const { send, taken, portfolios } = await open()
    const { status, headers, data, meta } = await send('/wallets/portfolio', {}, body)
    expect([status, data.map(({ wallet }: { readonly wallet: string }) => wallet), meta]).toEqual([
      ...[200, [one, two, one]],
      undefined,
    ])
    expect([headers['cache-control'], headers.etag, headers['x-block-number']]).toEqual([undefined, undefined, '50'])
    expect(taken).toEqual(['long 127.0.0.1'])
    expect(portfolios[0]).toMatchObject({ wallets: [one, two], chains: [{ chainId: 56 }] })
  })

  test('have the balances of the same wallets', async () => {
    const { send, balances } = await open()
    const { headers, data } = await send('/wallets/portfolio?include=balances', {}, body)
    expect(data.map((it: { readonly balances: { readonly wallet: string } }) => it.balances.wallet)).toEqual([
      one,
      two,
      one,
    ])
    expect([headers['cache-control'], balances]).toEqual(['no-store', [[56, [one, two]]]])
  })

  test('after a transaction are of one chain, and report that it reverted', async () => {
    const { send, mined, waited } = await open()
    mined.set(hash, { block: 50n, isReverted: true, isReached: true })
    const path = `/wallets/portfolio?afterTx=${hash}`
    const { status, meta, headers } = await send(path, {}, { ...body, chainIds: [8453] })
    expect([status, meta, headers['x-transaction']]).toEqual([200, { transaction: 'reverted' }, 'reverted'])
    expect(waited).toHaveLength(1)
    const { status: refused, error } = await send(path, {}, { wallets: [one] })
    expect([refused, error.details[0].path]).toEqual([400, 'chainIds'])
    expect((await send('/wallets/portfolio?minBlock=51', {}, { wallets: [one], chainIds: [8453] })).status).toBe(503)
  })

  test('take a list of a hundred wallets and white space, and no larger body', async () => {
    const { send } = await open()
    const wallets = Array.from({ length: 100 }, (_, at) => walletOf(at + 1))
    expect((await send('/wallets/portfolio', {}, { wallets })).status).toBe(200)
    expect((await send('/wallets/portfolio', {}, { wallets: [`0x${'1'.repeat(16_384)}`] })).status).toBe(413)
  })
})

describe('the balances of a wallet', () => {
  const url = `/wallets/${one}/balances`

  test('are read of the nodes, in the turn of a page, and must not be stored', async () => {
    const { send, taken, balances } = await open()
    const { status, headers, data, meta } = await send(`${url}?chainId=8453`)
    expect([status, data.wallet, data.chains[0].native.balance, meta]).toEqual([200, one, '5', undefined])
    expect(headers).toMatchObject({ 'x-data-source': 'chain', 'x-block-number': '50', 'cache-control': 'no-store' })
    expect([taken, balances]).toEqual([['page 127.0.0.1'], [[8453, [one]]]])
    await send(url)
    expect(balances.slice(1)).toEqual([
      [8453, [one]],
      [56, [one]],
    ])
  })

  test('after a transaction wait for the nodes, and report that it reverted', async () => {
    const { send, mined } = await open()
    mined.set(hash, { block: 50n, isReverted: true, isReached: true })
    const { status, meta, headers } = await send(`${url}?chainId=8453&afterTx=${hash}`)
    expect([status, meta, headers['x-transaction']]).toEqual([200, { transaction: 'reverted' }, 'reverted'])
    expect((await send(`${url}?chainId=8453&minBlock=51`)).status).toBe(503)
  })

  test('are a fault when no chain can be read', async () => {
    const { send } = await open({ isDown: true })
    expect((await send(url)).status).toBe(503)
  })
})

import { describe, expect, test } from 'vitest'
import { readRoutes } from '../../../src/api/routes/reads.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import { blockAt } from '../../support/fake-changes.ts'
import { seedDeployment, walletOf } from '../../support/seed-index.ts'
import { fakeTurns, fakeWaits, indexedQueries, openCache, openRoutes } from './route-app.ts'

/* Single reads over fake chains, and lists of ids over a fake index, which is at block 50 of both chains. */

const hash = `0x${'5f'.repeat(32)}`
const stats = {
  ...{ settledAt: 700n, triggered: true, settlementPrice: 5n, totalLiquidity: 1n, totalExposure: 2n },
  ...{ totalMaxPayout: 3n, totalPremiums: 4n, creatorEarnings: 6n, lpCount: 7n, hedgerCount: 8n },
}

type Options = {
  /** The block of both chains that nodes read at. */
  readonly at?: number
  readonly heads?: Readonly<Record<number, number>>
  readonly creator?: string
  /** Until what time events are settled for good. */
  readonly finalUntil?: number
  readonly ids?: readonly bigint[]
}

const open = async (options: Options = {}) => {
  const { at = 50, heads = {}, creator = walletOf(1), finalUntil = 0, ids = [1n, 2n, 3n] } = options
  const read: string[] = []
  const finals: unknown[][] = []
  const gate = { opened: Promise.resolve() }
  const values: Readonly<Record<string, unknown>> = {
    getTotalHedgeEvents: 12n,
    isPaused: false,
    getHedgeEventCore: { creator },
    getHedgeEventStats: stats,
  }
  const chainOf = (chainId: number) => ({
    deployment: seedDeployment(chainId),
    head: async () => blockAt(at),
    pinned: (run: (block: object) => unknown) => run(blockAt(at)),
    async readAt(_: object, views: readonly { readonly name: string }[]) {
      read.push(`${chainId} ${views.map(({ name }) => name).join()}`)
      await gate.opened
      return views.map(({ name }) => ({ ok: true, value: values[name] }))
    },
  })
  const sources = {
    maxLagSeconds: 60,
    chains: new Map([8453, 56].map((chainId) => [chainId, chainOf(chainId)])),
    queries: {
      ...indexedQueries,
      event: async () => ({}),
      idsByEvent: {
        async position(chainId: number, _: bigint, page: { readonly after: bigint | null; readonly limit: number }) {
          read.push(`${chainId} positions`)
          return ids.filter((id) => page.after === null || id > page.after).slice(0, page.limit)
        },
      },
    },
    finality: {
      async isFinal(...asked: [number, number]) {
        finals.push(asked)
        return asked[1] > 0 && asked[1] <= finalUntil
      },
    },
  } as never
  const { turns, taken } = fakeTurns()
  let opened: (Awaited<ReturnType<typeof openCache>> & ReturnType<typeof fakeWaits>) | undefined
  const app = await openRoutes(async (it) => {
    const cached = await openCache(it)
    const { cache } = cached
    opened = { ...cached, ...fakeWaits(cached.index, heads) }
    await it.register(readRoutes, { sources, waits: opened.waits, turns, cache, defaultChainId: 56 })
  })
  if (opened === undefined) throw new Error('the app has no cache')
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const { statusCode: status, headers: sent, body } = await app.inject({ url, headers })
    return { status, headers: sent, ...(body === '' ? {} : JSON.parse(body)) }
  }
  return { ask, read, finals, taken, gate, ...opened }
}

describe('a single read', () => {
  test('has its data, the block of the chain and a tag, and takes no turn', async () => {
    const { ask, read, taken } = await open()
    const { status, headers, data, meta } = await ask('/hedge/events/8453/total')
    expect([status, data, meta, taken, read]).toEqual([200, 12, undefined, [], ['8453 getTotalHedgeEvents']])
    expect(headers).toMatchObject({
      ...{ 'x-data-source': 'chain', 'x-block-number': '50', 'cache-control': 'public, no-cache' },
      etag: expect.stringMatching(/^W\//),
    })
    expect(headers).not.toHaveProperty('link')
  })

  test('is of the chain of the request, or of the default one', async () => {
    const { ask, read } = await open()
    await ask('/governance/owner?chainId=8453')
    await ask('/governance/owner')
    expect(read.map((it) => it.split(' ')[0])).toEqual(['8453', '56'])
  })

  test('is not repeated for a client with its tag', async () => {
    const { ask, read, index } = await open()
    const url = '/hedge/events/8453/7/stats'
    const { headers } = await ask(url)
    const held = { 'if-none-match': String(headers.etag) }
    expect((await ask(url, held)).status).toBe(304)
    expect(read).toHaveLength(1)
    index.change(101, { chainIds: [8453], keys: ['8453 *', '8453 event:7'] })
    expect((await ask(url, held)).status).toBe(200)
    expect(read).toHaveLength(2)
  })

  test.each([
    [700, 'public, max-age=30'],
    [699, 'public, no-cache'],
  ])('of an event that was settled at 700 may be cached where %i is final: %s', async (finalUntil, cacheControl) => {
    const { ask, finals } = await open({ finalUntil })
    expect((await ask('/hedge/events/8453/7/stats')).headers['cache-control']).toBe(cacheControl)
    expect(finals).toEqual([[8453, 700]])
  })

  test('that is of no settlement is never final, and one that no block changes always is', async () => {
    const { ask, finals } = await open({ finalUntil: 1_000 })
    expect((await ask('/hedge/events/8453/total')).headers['cache-control']).toBe('public, no-cache')
    expect(finals).toEqual([[8453, 0]])
    const { headers, data } = await ask('/chains')
    expect(headers).toMatchObject({ 'x-data-source': 'static', 'cache-control': 'public, max-age=30' })
    expect([data.map((it: { readonly chainId: number }) => it.chainId), finals.length]).toEqual([[8453, 56], 1])
  })

  test('of what does not exist is a 404 with its block', async () => {
    const { ask } = await open({ creator: `0x${'0'.repeat(40)}` })
    const { status, headers, error } = await ask('/hedge/events/8453/7/stats')
    expect([status, error.message]).toEqual([404, 'event 7 does not exist on chain 8453'])
    expect(headers).toMatchObject({ 'x-block-number': '50', 'cache-control': 'no-store' })
  })

  test('is shared by requests at the same time, whatever their order of parameters, until something changes', async () => {
    const { ask, read, gate, index } = await open()
    let release = () => {}
    gate.opened = new Promise((resolve) => {
      release = resolve
    })
    const first = [ask('/hedge/events/8453/total'), ask('/hedge/events/8453/total/?_=1')]
    await expect.poll(() => read.length).toBe(1)
    const other = ask('/hedge/events/56/total')
    await expect.poll(() => read.length).toBe(2)
    index.change(101, { chainIds: [8453], keys: ['8453 protocol'] })
    const later = ask('/hedge/events/8453/total')
    await expect.poll(() => read.length).toBe(3)
    release()
    for (const { status } of await Promise.all([...first, other, later])) expect(status).toBe(200)
    expect(read).toHaveLength(3)
    // A version that is not known is not shared.
    index.outdated.add(8453)
    gate.opened = new Promise((resolve) => {
      release = resolve
    })
    const apart = [ask('/hedge/events/8453/total'), ask('/hedge/events/8453/total')]
    await expect.poll(() => read.length).toBe(5)
    release()
    await Promise.all(apart)
  })
})

describe('a read after a block or a transaction', () => {
  test.each([
    [50, 50, 50, 304],
    [51, 51, 51, 200],
  ])(
    'of block %i with the head at %i is answered from its tag only where the index has it',
    async (minBlock, head, at, status) => {
      const { ask, read } = await open({ heads: { 8453: head }, at })
      const { headers } = await ask('/hedge/events/8453/total')
      const held = { 'if-none-match': String(headers.etag) }
      expect((await ask(`/hedge/events/8453/total?minBlock=${minBlock}`, held)).status).toBe(status)
      expect(read).toHaveLength(status === 304 ? 1 : 2)
    },
  )

  test('is refused where the answer is older, and not where it is of that block', async () => {
    const { ask } = await open({ heads: { 8453: 52 }, at: 51 })
    expect((await ask('/hedge/events/8453/total?minBlock=51')).status).toBe(200)
    const { status, error } = await ask('/hedge/events/8453/total?minBlock=52')
    expect([status, error.message]).toEqual([
      503,
      'block 52 of chain 8453 cannot be read yet: the newest answer is as of block 51',
    ])
  })

  test('waits for the head of the nodes, and a list of ids for the index', async () => {
    const { ask, waited } = await open({ heads: { 8453: 60 }, at: 60 })
    expect((await ask('/hedge/events/8453/total?minBlock=60')).status).toBe(200)
    expect(waited).toEqual([])
    const late = await ask('/hedge/events/8453/7/positions?minBlock=60')
    expect([late.status, waited]).toEqual([503, ['8453 127.0.0.1']])
    expect((await ask('/hedge/events/8453/7/positions?minBlock=50')).status).toBe(200)
  })

  test.each([
    ['/hedge/events/8453/7/stats', undefined],
    ['/hedge/events/8453/7/positions', { limit: 10_000, hasMore: false, nextCursor: null }],
    ['/hedge/events/8453/7/positions?limit=2', { limit: 2, hasMore: true, nextCursor: expect.any(String) }],
  ])('that reverted, %s, is reported next to the page', async (url, page) => {
    const { ask, mined } = await open({ heads: { 8453: 50 } })
    const after = `${url}${url.includes('?') ? '&' : '?'}afterTx=${hash}`
    mined.set(hash, { block: 50n, isReverted: true, isReached: true })
    const { status, headers, meta } = await ask(after)
    expect([status, headers['x-transaction'], meta]).toEqual([200, 'reverted', { ...page, transaction: 'reverted' }])
    const other = `0x${'6f'.repeat(32)}`
    mined.set(other, { block: 50n, isReverted: false, isReached: true })
    const worked = await ask(after.replace(hash, other))
    expect([worked.headers['x-transaction'], worked.meta]).toEqual([
      undefined,
      url.includes('limit') ? page : undefined,
    ])
  })
})

describe('a list of ids', () => {
  test('is read in the turn of a page, and has the link to the next page', async () => {
    const { ask, taken } = await open()
    const { headers, data, meta } = await ask('/hedge/events/8453/7/positions?limit=2&_=1')
    expect([data, meta.hasMore, taken]).toEqual([[1, 2], true, ['page 127.0.0.1']])
    expect(headers.link).toBe(`<?limit=2&cursor=${encodeURIComponent(meta.nextCursor)}>; rel="next"`)
    expect(headers).toMatchObject({ 'x-data-source': 'database', 'x-index-lag': '0' })
    const next = await ask(`/hedge/events/8453/7/positions?limit=2&cursor=${meta.nextCursor}`)
    expect([next.data, next.headers.link]).toEqual([[3], undefined])
    expect((await ask('/hedge/events/8453/7/positions')).meta).toBeUndefined()
  })

  test('stays in the cache until it changes, because its body has no time', async () => {
    const { ask, read, clock, index } = await open()
    const url = '/hedge/events/8453/7/positions'
    await ask(url)
    clock.ms = 1e9
    await ask(url)
    expect(read).toHaveLength(1)
    index.change(101, { chainIds: [8453], keys: ['8453 event:7'] })
    await ask(url)
    expect(read).toHaveLength(2)
  })
})

test('a fault of the nodes is the fault of the read', async () => {
  const { ask, gate } = await open()
  gate.opened = Promise.reject(unavailable('no node is in reach'))
  gate.opened.catch(() => {})
  expect((await ask('/governance/owner')).status).toBe(503)
})

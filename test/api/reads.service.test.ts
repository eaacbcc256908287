import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { byForm } from '../support/repetitions.ts'
import { startWorld } from '../support/world.ts'

type World = Awaited<ReturnType<typeof startWorld>>
type Api = Awaited<ReturnType<typeof openApp>>

let world: World
let database: TestDatabase
/** Both sources; the chain alone; the index alone. */
let api: Api
let chainOnly: Api
let indexOnly: Api

beforeAll(async () => {
  ;[world, database] = await Promise.all([startWorld(), createTestDatabase()])
  const nodes = [{ url: world.anvil.url, deployment: world.deployment }]
  ;[api, chainOnly, indexOnly] = await Promise.all([
    openApp({ nodes, databaseUrl: database.url }),
    openApp({ nodes }),
    openApp({ nodes: [{ deployment: world.deployment }], databaseUrl: database.url }),
  ])
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
})

afterAll(async () => {
  await Promise.all([api, chainOnly, indexOnly].map((it) => it?.close()))
  await Promise.all([database?.close(), world?.close()])
})

const each = (template: string, ids: readonly number[]): string[] =>
  ids.map((id) => template.replace('{id}', String(id)))

const entityPaths = [
  '/hedge/fees',
  '/hedge/fees?chainId=8453',
  '/hedge/paused/8453',
  '/hedge/events/8453/total',
  ...each('/hedge/events/8453/{id}', [1, 2, 3]),
  ...each('/hedge/events/8453/{id}/stats', [1, 2, 3]),
  ...each('/hedge/events/8453/{id}/range', [1, 2, 3]),
  ...each('/hedge/events/8453/{id}/utilization', [1, 2, 3]),
  ...each('/hedge/positions/8453/{id}', [1, 2, 3, 4]),
  ...each('/hedge/deposits/8453/{id}', [1, 2, 3, 4]),
  ...each('/hedge/deposits/8453/{id}/pending', [1, 2, 3, 4]),
  ...each('/hedge/quote-payout/8453/{id}?hypoSettlement=12500000&notional=10000000000', [1, 2, 3]),
]

const listPaths = () => [
  ...each('/hedge/events/8453/{id}/positions', [1, 2, 3]),
  ...each('/hedge/events/8453/{id}/deposits', [1, 2, 3]),
  ...[world.creator, world.lp, world.hedger, world.stranger].flatMap(({ account }) =>
    ['positions', 'deposits', 'creators'].map((kind) => `/hedge/${kind}/8453/wallet/${account.address}`),
  ),
]

const missingPaths = [
  ...each('/hedge/events/8453/{id}', [0, 4, Number.MAX_SAFE_INTEGER]),
  '/hedge/events/8453/4/stats',
  '/hedge/events/8453/4/range',
  '/hedge/events/8453/4/utilization',
  '/hedge/events/8453/4/positions',
  '/hedge/events/8453/4/deposits',
  '/hedge/quote-payout/8453/4?hypoSettlement=1&notional=1',
  '/hedge/positions/8453/5',
  '/hedge/deposits/8453/5',
  '/hedge/deposits/8453/5/pending',
]

const freshness = ({ headers }: Awaited<ReturnType<Api['get']>>) => [headers['x-data-source'], headers['x-stale']]

describe('a read of the chain returns', () => {
  test('an event', async () => {
    expect((await api.get('/hedge/events/8453/1')).data).toMatchObject({
      id: 1,
      creator: world.creator.account.address,
      name: 'Cedi, upward',
      underlying: 'USD/GHS',
      strike: '12000000',
      payoutCap: '13500000',
      premiumRate: '23000',
      initialRate: '11400000',
      strikeAbove: true,
      poolOpen: true,
      allowExternalLp: true,
      paymentToken: world.deployment.usdc,
      status: 0,
    })
    expect((await api.get('/hedge/events/8453/3')).data).toMatchObject({ poolOpen: false, allowExternalLp: false })
    expect((await api.get('/hedge/events/8453/total')).data).toBe(3)
  })

  test('its settlement', async () => {
    expect((await api.get('/hedge/events/8453/1/stats')).data).toMatchObject({ settledAt: 0, triggered: false })
    const { data } = await api.get('/hedge/events/8453/2/stats')
    expect(data).toMatchObject({ triggered: true, settlementPrice: '9000000', hedgerCount: 1, lpCount: 1 })
    expect(data).toHaveProperty(
      'settledAt',
      expect.toSatisfy((at: number) => at > 1_700_000_000),
    )
  })

  test('a position, claimable once its event has settled and triggered', async () => {
    // floor(3,000 USDC x 1.4 / 11.4)
    const claimable = { id: 4, eventId: 2, payoutAmount: '368421052', status: 4, claimed: false }
    expect((await api.get('/hedge/positions/8453/4')).data).toMatchObject(claimable)
    const bought = { hedger: world.hedger.account.address, notional: '20000000000', premiumPaid: '460000000' }
    expect((await api.get('/hedge/positions/8453/1')).data).toMatchObject({ ...bought, payoutAmount: '0', status: 0 })
  })

  test('a deposit, whose pending premiums are the earned ones minus the claimed ones', async () => {
    const { data } = await api.get('/hedge/deposits/8453/4')
    const pending = await api.get('/hedge/deposits/8453/4/pending')
    const { premiumsEarned, premiumsClaimed } = data as { premiumsEarned: string; premiumsClaimed: string }
    expect(BigInt(premiumsClaimed)).toBeGreaterThan(0n)
    expect((BigInt(premiumsEarned) - BigInt(premiumsClaimed)).toString()).toBe(pending.data)
    expect(pending.data).not.toBe('0')
  })

  test('a record with what rows of lists have of it', async () => {
    const kinds = { events: [1, 2, 3], deposits: [1, 2, 3, 4], positions: [1, 2, 3, 4] }
    for (const [kind, ids] of Object.entries(kinds)) {
      const { data: rows } = await api.get(`/hedge/${kind}?chainId=8453&ids=${ids.join()}`)
      const singles = await Promise.all(ids.map((id) => api.get(`/hedge/${kind}/8453/${id}`)))
      expect(singles.map(({ data }) => data)).toEqual(rows)
      expect(rows).toContainEqual(expect.objectContaining({ createdTx: expect.stringMatching(/^0x[0-9a-f]{64}$/) }))
    }
  })

  test('lists', async () => {
    const hedger = world.hedger.account.address
    expect((await api.get('/hedge/events/8453/1/positions')).data).toEqual([1, 2, 3])
    expect((await api.get('/hedge/events/8453/1/deposits')).data).toEqual([1, 4])
    expect((await api.get(`/hedge/positions/8453/wallet/${hedger.toLowerCase()}`)).data).toEqual([1, 2, 3, 4])
    expect((await api.get(`/hedge/deposits/8453/wallet/${world.lp.account.address}`)).data).toEqual([4])
    expect((await api.get(`/hedge/creators/8453/wallet/${world.creator.account.address}`)).data).toEqual([1, 2, 3])
    expect((await api.get(`/hedge/creators/8453/wallet/${world.stranger.account.address}`)).data).toEqual([])
  })

  test('the chains with their public URLs', async () => {
    const { data, headers } = await api.get('/chains')
    expect(headers['x-data-source']).toBe('static')
    expect(data).toMatchObject([
      { chainId: 8453, diamond: world.deployment.diamond, usdt: null, rpcUrl: 'https://base.example/rpc' },
      { chainId: 56, usdt: null, paymentDecimals: { USDC: 18 } },
    ])
  })
})

describe('the source of a read:', () => {
  test('an entity is read from the chain at the block that its headers name', async () => {
    for (const path of entityPaths) {
      const answer = await api.get(path)
      expect(answer.status, path).toBe(200)
      expect(freshness(answer), path).toEqual(['chain', undefined])
      const block = await world.actions.client.getBlock({
        blockNumber: BigInt(String(answer.headers['x-block-number'])),
      })
      expect(answer.headers['x-block-hash']).toBe(block.hash)
      expect(answer.headers['x-block-timestamp']).toBe(String(block.timestamp))
    }
  })

  test('a list is read from the index', async () => {
    for (const path of listPaths()) expect(freshness(await api.get(path)), path).toEqual(['database', undefined])
  })

  test('without a node everything is read from the index, equal to the last unit', async () => {
    for (const path of entityPaths) {
      const [online, fallback] = await Promise.all([api.get(path), indexOnly.get(path)])
      expect(fallback.data, path).toEqual(online.data)
      expect(freshness(fallback), path).toEqual(['database', '1'])
      expect(fallback.headers['x-block-hash'], path).toMatch(/^0x[0-9a-f]{64}$/)
    }
    for (const path of listPaths()) expect(freshness(await indexOnly.get(path)), path).toEqual(['database', undefined])
  })

  test('without a database entities are unchanged, and lists are read from the chain and marked stale', async () => {
    for (const path of entityPaths) expect(freshness(await chainOnly.get(path)), path).toEqual(['chain', undefined])
    for (const path of listPaths()) {
      const [online, fallback] = await Promise.all([api.get(path), chainOnly.get(path)])
      expect(fallback.data, path).toEqual(online.data)
      expect(freshness(fallback), path).toEqual(['chain', '1'])
    }
  })

  test('an entity that does not exist is a 404 from each source', async () => {
    for (const path of missingPaths) {
      for (const source of [api, chainOnly, indexOnly]) {
        const { status, error } = await source.get(path)
        expect([path, status, error?.code]).toEqual([path, 404, 'not_found'])
      }
    }
  })

  test('a chain without node and index is a 503', async () => {
    for (const path of ['/hedge/paused/56', '/hedge/events/56/1', '/hedge/events/56/1/positions']) {
      expect((await api.get(path)).status, path).toBe(503)
    }
  })

  test('a quote from the index equals that of the chain to the last unit', async () => {
    const max = 2n ** 256n - 1n
    // About the largest notional whose product with a movement of one to two units fits into a uint256.
    const amount = fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
      fc.bigInt({ min: max / 2_000_000n, max: max / 1_000_000n }),
      fc.bigInt({ min: 0n, max }),
    )
    const rate = fc.oneof(fc.bigInt({ min: 0n, max: 20_000_000n }), amount)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), rate, amount, async (id, hypoSettlement, notional) => {
        const path = `/hedge/quote-payout/8453/${id}?hypoSettlement=${hypoSettlement}&notional=${notional}`
        const [online, fallback] = await Promise.all([chainOnly.get(path), indexOnly.get(path)])
        expect([200, 400]).toContain(online.status)
        expect([fallback.status, fallback.data, fallback.error]).toEqual([online.status, online.data, online.error])
      }),
      { numRuns: byForm(50, 2_000) },
    )
  })
})

describe('the pages of a list', () => {
  const idsOfPages = async (first: Api, then: Api, path: string): Promise<number[]> => {
    const ids: number[] = []
    let cursor: string | null = null
    for (let page = 0; page < 10; page += 1) {
      const answer = await (page % 2 === 0 ? first : then).get(
        `${path}?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`,
      )
      const meta = answer.meta as { limit: number; hasMore: boolean; nextCursor: string | null }
      expect(meta.limit).toBe(1)
      expect(meta.hasMore).toBe(meta.nextCursor !== null)
      ids.push(...(answer.data as number[]))
      cursor = meta.nextCursor
      if (cursor === null) return ids
    }
    throw new Error('the pages do not end')
  }

  test('add up to the list, also when the source changes between two pages', async () => {
    const path = '/hedge/events/8453/1/positions'
    expect(await idsOfPages(api, api, path)).toEqual([1, 2, 3])
    expect(await idsOfPages(chainOnly, indexOnly, path)).toEqual([1, 2, 3])
    expect(await idsOfPages(api, api, '/hedge/events/8453/3/positions')).toEqual([])
  })

  test('have no meta unless a limit or a cursor was sent', async () => {
    expect((await api.get('/hedge/events/8453/1/positions')).meta).toBeUndefined()
    const whole = await api.get('/hedge/events/8453/1/positions?limit=3')
    expect(whole.meta).toEqual({ limit: 3, hasMore: false, nextCursor: null })
  })

  test('reject a cursor of another list', async () => {
    const { meta } = await api.get('/hedge/events/8453/1/positions?limit=1')
    const { nextCursor } = meta as { nextCursor: string }
    for (const path of [
      '/hedge/events/8453/2/positions',
      '/hedge/events/8453/1/deposits',
      '/hedge/events/56/1/positions',
    ]) {
      const { status, error } = await api.get(`${path}?cursor=${nextCursor}`)
      expect([status, error?.details?.[0]?.path], path).toEqual([400, 'cursor'])
    }
  })
})

describe('a list longer than one answer', () => {
  const whale = '0x00000000000000000000000000000000000000FF'
  const path = `/hedge/positions/8453/wallet/${whale}`

  test('returns its first 10,000 ids and the cursor of the next page', async () => {
    await api.database.run((handle) =>
      handle.execute(sql`
        INSERT INTO positions (chain_id, id, event_id, hedger, notional, premium_paid, platform_fee,
                               block_number, block_hash, block_timestamp, tx_hash, log_index)
        SELECT 8453, 1000000 + n, 999, ${Buffer.from(whale.slice(2), 'hex')}, 1, 1, 1, 1,
               ${Buffer.alloc(32)}, 1, ${Buffer.alloc(32)}, n
        FROM generate_series(1, 10003) n`),
    )
    const first = await indexOnly.get(path)
    expect(first.data).toHaveLength(10_000)
    const { nextCursor } = first.meta as { nextCursor: string }
    expect(first.meta).toEqual({ limit: 10_000, hasMore: true, nextCursor })
    const rest = await indexOnly.get(`${path}?cursor=${nextCursor}`)
    expect(rest.data).toEqual([1_010_001, 1_010_002, 1_010_003])
    expect(rest.meta).toEqual({ limit: 10_000, hasMore: false, nextCursor: null })
  })
})

describe('readiness', () => {
  test('is refused for a chain that no worker has reached, and the error names the chain', async () => {
    const head = await api.sources.queries.indexed(8453)
    if (head === null) throw new Error('nothing is indexed')
    const nodes = chainOf(api.sources.chains, 8453).status()
    const heartbeat = { head, proven: head, isQuiet: false, source: 'logs', problem: null, nodes } as const
    await api.database.run((handle) => saveHeartbeat(handle, 8453, heartbeat))
    const ready = await api.app.inject('/readyz')
    expect(ready.statusCode).toBe(503)
    expect(ready.json().error.message).toContain('chain 56')
  })
})

describe('an index that lags', () => {
  test('does not hide what the chain already has', async () => {
    const expiry = (await world.actions.now()) + 86_400
    await world.actions.createEvent(world.creator, { ...world.upward, expiry })
    await expect.poll(async () => (await api.get('/hedge/events/8453/total')).data).toBe(4)
    const deposits = await api.get('/hedge/events/8453/4/deposits')
    expect(deposits.data).toEqual([5])
    expect(freshness(deposits)).toEqual(['chain', undefined])
    expect(freshness(await indexOnly.get('/hedge/events/8453/4/deposits'))).toEqual(['database', '1'])
  })

  test('by more than its limit leaves lists to the chain, which marks them stale', async () => {
    const path = `/hedge/deposits/8453/wallet/${world.lp.account.address}`
    const known = (await indexOnly.get(path)).data as number[]
    await world.actions.node.increaseTime({ seconds: 100 })
    const id = await world.actions.deposit(world.lp, 1n, 10_000_000n)
    await expect.poll(async () => (await api.get(path)).data).toEqual([...known, Number(id)])
    expect(freshness(await api.get(path))).toEqual(['chain', '1'])
  })
})

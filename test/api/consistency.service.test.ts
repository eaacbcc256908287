import { zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { receiptOf } from '../support/receipt.ts'
import { byForm } from '../support/repetitions.ts'

const USDC = 10n ** 6n

const CYCLES = byForm(3, 1_000)

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
/** Two API processes on one database. */
let apis: readonly Awaited<ReturnType<typeof openApp>>[]

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  apis = [await indexed.open(), await indexed.open()]
})
afterAll(() => indexed?.close())

const deposits = () => `/hedge/deposits/8453/wallet/${world.lp.account.address}`

const get = async (path: string, of = 0) => {
  const api = apis[of]
  if (api === undefined) throw new RangeError('there are two')
  return api.get(path)
}

const read = (query: string, of = 0) => get(`${deposits()}?${query}`, of)

/** An event takes 200 deposits, one of them at its creation. */
const DEPOSITS_EACH = 100

/** Makes deposits into events of their own, as many as it takes. */
const depositor = () => {
  const { actions, creator, lp, upward } = world
  let made = 0
  let eventId = 0n
  return async (amount: bigint): Promise<bigint> => {
    if (made % DEPOSITS_EACH === 0) {
      const expiry = (await actions.now()) + 86_400
      eventId = (await actions.createEvent(creator, { ...upward, name: 'Deposits', expiry })).eventId
    }
    made += 1
    return actions.deposit(lp, eventId, amount)
  }
}

const Ids = z.array(z.looseObject({ id: z.number() })).transform((rows) => rows.map(({ id }) => id))

test(`a list that is read with afterTx contains the row of the transaction, ${CYCLES} times in a row`, {
  timeout: CYCLES * 5_000,
}, async () => {
  const deposit = depositor()
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const id = await deposit(20n * USDC)
    const { hash, block } = await world.newest()
    const query = cycle % 3 === 0 ? `minBlock=${block}&waitMs=10000` : `afterTx=${hash}&waitMs=10000`
    // The page before it is asked for too, so that it may be kept.
    const [before, { status, data, headers, error }] = await Promise.all([read('', cycle % 2), read(query, cycle % 2)])
    expect(before.status).toBe(200)
    expect([cycle, status, error]).toEqual([cycle, 200, undefined])
    expect(data).toContain(Number(id))
    expect(headers['x-data-source']).toBe('database')
    expect(BigInt(String(headers['x-block-number']))).toBeGreaterThanOrEqual(block)
  }
})

const OWN_CYCLES = byForm(3, 1_000)

test(`a read of the chain with afterTx is of the transaction's block or a later one, ${OWN_CYCLES} times in a row`, {
  timeout: OWN_CYCLES * 5_000,
}, async () => {
  const deposit = depositor()
  // As in production, a head may be so old.
  const slow = await indexed.open({ headMaxAgeMs: 200 })
  const took: number[] = []
  for (let cycle = 0; cycle < OWN_CYCLES; cycle += 1) {
    // So that a head from before the transaction is known.
    expect((await slow.get('/hedge/fees')).status).toBe(200)
    const id = await deposit(BigInt(20 + cycle) * USDC)
    const { hash, block } = await world.newest()
    const wanted = cycle % 2 === 0 ? `minBlock=${block}` : `afterTx=${hash}`
    const path = ['', '/pending'][Math.floor(cycle / 2) % 2]
    const began = performance.now()
    const { status, data, headers, error } = await slow.get(`/hedge/deposits/8453/${id}${path}?${wanted}`)
    took.push(performance.now() - began)
    expect([cycle, wanted, status, error]).toEqual([cycle, wanted, 200, undefined])
    if (path === '') expect(data).toMatchObject({ id: Number(id), amount: String(BigInt(20 + cycle) * USDC) })
    expect(headers['x-data-source']).toBe('chain')
    expect(BigInt(String(headers['x-block-number']))).toBeGreaterThanOrEqual(block)
  }
  const mean = took.reduce((sum, ms) => sum + ms, 0) / took.length
  console.log(`own transactions: ${took.length} reads, ${mean.toFixed(1)} ms on average`)
})

test('a read of the chain waits until the nodes have the block, and is a 503 with both blocks when they do not', async () => {
  const { actions } = world
  const { number } = await actions.client.getBlock()
  const path = '/hedge/events/8453/1/utilization'
  const late = await get(`${path}?minBlock=${number + 3n}&waitMs=50`)
  expect([late.status, late.headers['retry-after']]).toEqual([503, '1'])
  expect(late.error?.message).toBe(`chain 8453 has not reached block ${number + 3n} yet: the head is block ${number}`)
  const unknown = await get(`${path}?afterTx=0x${'ab'.repeat(32)}&waitMs=50`)
  expect([unknown.status, unknown.headers['retry-after']]).toEqual([503, '1'])
  expect(unknown.error?.message).toMatch(
    /transaction 0xab.* is not in a block of any node of chain 8453 yet: the head is block \d+$/,
  )
  const waiting = get(`${path}?minBlock=${number + 3n}&waitMs=10000`)
  await actions.node.mine({ blocks: 3 })
  expect((await waiting).status).toBe(200)
})

test('a read of the chain is never a 304 for a block that the index has not reached', async () => {
  const path = '/hedge/events/8453/1/stats'
  const api = await indexed.open()
  await indexed.quiet()
  let tag = ''
  await expect
    .poll(async () => {
      tag = String((await api.get(path)).headers.etag)
      return (await api.app.inject({ url: `/v1${path}`, headers: { 'if-none-match': tag } })).statusCode
    })
    .toBe(304)
  for (let at = 0; at < 20; at += 1) {
    await world.actions.buy(world.hedger, 1n, 20n * USDC)
    const { block } = await world.newest()
    const { statusCode } = await api.app.inject({
      url: `/v1${path}?minBlock=${block}`,
      headers: { 'if-none-match': tag },
    })
    expect([at, statusCode]).toEqual([at, 200])
  }
})

test('a read without a node is answered from the index if that has the block, and is a 503 otherwise', async () => {
  const proxy = await startNodeProxy(world.anvil.url)
  try {
    const api = await indexed.open({ nodes: [{ url: proxy.url, deployment: world.deployment }], nodeTimeoutMs: 500 })
    const id = await world.actions.deposit(world.lp, 1n, 20n * USDC)
    const { hash, block } = await world.newest()
    await indexed.quiet()
    proxy.say(() => ({ status: 502, body: 'down' }))
    const path = `/hedge/deposits/8453/${id}`
    const known = await api.get(`${path}?minBlock=${block}`)
    expect([known.status, known.headers['x-data-source'], known.headers['x-stale']]).toEqual([200, 'database', '1'])
    for (const query of [`minBlock=${block + 1n}`, `afterTx=${hash}`]) {
      const late = await api.get(`${path}?${query}&waitMs=100`)
      expect([query, late.status, late.headers['retry-after']]).toEqual([query, 503, '1'])
    }
  } finally {
    await proxy.close()
  }
})

test('a reverted transaction has a block like any other', async () => {
  const { client, node } = world.actions
  const hash = await node.sendUnsignedTransaction({
    ...{ from: world.stranger.account.address, to: world.deployment.diamond, data: '0x12345678', gas: 1_000_000n },
  })
  expect((await receiptOf(client, hash)).status).toBe('reverted')
  expect((await read(`afterTx=${hash}&waitMs=10000`)).status).toBe(200)
  expect((await get(`/hedge/events/8453/1?afterTx=${hash}&waitMs=10000`)).status).toBe(200)
})

test('a block that is not indexed in time is a 503 with both blocks, and the request can be repeated', async () => {
  const { number } = await world.actions.client.getBlock()
  const late = await read(`minBlock=${number + 5n}&waitMs=100`)
  expect([late.status, late.headers['retry-after']]).toEqual([503, '1'])
  expect(late.error?.message).toMatch(new RegExp(`block ${number + 5n} of chain 8453 .* at block ${number}`))
  const unknown = await read(`afterTx=0x${'ab'.repeat(32)}&waitMs=100`)
  expect([unknown.status, unknown.headers['retry-after']]).toEqual([503, '1'])
  expect(unknown.error?.message).toMatch(/any node of chain 8453 .* at block \d+$/)
  // A waiting request is answered as soon as the block exists.
  const waiting = read(`minBlock=${number + 5n}&waitMs=10000`, 1)
  await world.actions.node.mine({ blocks: 5 })
  expect((await waiting).status).toBe(200)
})

test('invalid consistency parameters are rejected by name', async () => {
  for (const [query, path] of [
    [`minBlock=1&afterTx=0x${'ab'.repeat(32)}`, 'afterTx'],
    ['minBlock=-1', 'minBlock'],
    ['afterTx=0x12', 'afterTx'],
    ['minBlock=1&waitMs=10001', 'waitMs'],
    ['minBlock=1&waitMs=1e3', 'waitMs'],
  ] as const) {
    const { status, error } = await read(query)
    expect([query, status, error?.details?.[0]?.path]).toEqual([query, 400, path])
  }
  const both = await apis[0]?.app.inject('/v1/hedge/settlements?minBlock=1')
  expect([both?.statusCode, both?.json().error.details[0].path]).toEqual([400, 'chainId'])
})

test('a list as of the safe or final block contains the rows created by then, and reports the block', async () => {
  const { actions, creator, upward } = world
  const create = async (name: string): Promise<number> =>
    Number((await actions.createEvent(creator, { ...upward, name, expiry: (await actions.now()) + 60 })).eventId)
  // The node reports blocks as safe after 32 blocks, and as final after 64.
  const final = await create('Final')
  await actions.node.mine({ blocks: 40 })
  const safe = await create('Safe')
  await actions.node.mine({ blocks: 40 })
  const latest = await create('Latest')
  await indexed.quiet()
  const Meta = z.looseObject({ asOf: z.tuple([z.looseObject({ blockNumber: z.number(), blockHash: z.string() })]) })
  for (const [finality, there, absent] of [
    ['latest', [final, safe, latest], []],
    ['safe', [final, safe], [latest]],
    ['finalized', [final], [safe, latest]],
  ] as const) {
    const { data, meta } = await get(
      `/hedge/events?chainId=8453&creator=${creator.account.address}&finality=${finality}`,
    )
    const ids = Ids.parse(data)
    expect([finality, ids]).toEqual([finality, expect.arrayContaining([...there])])
    for (const id of absent) expect([finality, ids]).toEqual([finality, expect.not.arrayContaining([id])])
    const { number, hash } = await actions.client.getBlock({ blockTag: finality })
    expect([finality, Meta.parse(meta).asOf[0]]).toMatchObject([
      finality,
      { blockNumber: Number(number), blockHash: hash },
    ])
  }
})

test('a settlement in a final block may be cached for half a minute, and a newer one must be revalidated', async () => {
  const { actions, owner, creator, upward } = world
  const { eventId } = await actions.createEvent(creator, {
    ...upward,
    name: 'Short',
    expiry: (await actions.now()) + 60,
  })
  await actions.node.increaseTime({ seconds: 120 })
  await actions.node.mine({ blocks: 1 })
  await actions.settle(owner, eventId, 13_000_000n)
  await indexed.quiet()
  for (const [id, cacheControl] of [
    [2n, 'public, max-age=30'],
    [eventId, 'public, no-cache'],
  ] as const) {
    const { data, headers } = await get(`/hedge/events/8453/${id}/stats`)
    expect(z.looseObject({ settledAt: z.number() }).parse(data).settledAt).toBeGreaterThan(0)
    expect([id, headers['cache-control']]).toEqual([id, cacheControl])
  }
})

test('an unknown token is read from its contract once and remembered', async () => {
  const proxy = await startNodeProxy(world.anvil.url)
  try {
    // The same protocol, for a service that is configured with another payment token.
    const deployment = { ...world.deployment, usdc: zeroAddress }
    const strange = await indexed.open({ nodes: [{ url: proxy.url, deployment }] })
    await indexed.quiet()
    proxy.calls()
    const list = '/hedge/positions?chainId=8453&limit=200'
    const Rows = z.array(z.looseObject({ token: z.string(), symbol: z.string().nullable(), decimals: z.number() }))
    const [first] = await Promise.all([strange.get(list), strange.get(list), strange.get(`${list}&order=asc`)])
    const rows = Rows.parse(first.data)
    expect(rows.length).toBeGreaterThan(3)
    for (const row of rows) expect(row).toMatchObject({ token: world.deployment.usdc, symbol: 'USDC', decimals: 6 })
    expect(proxy.calls().filter((method) => method === 'eth_call')).toHaveLength(2)
    await strange.get(`${list}&claimed=false`)
    expect(proxy.calls().filter((method) => method === 'eth_call')).toEqual([])
  } finally {
    await proxy.close()
  }
})

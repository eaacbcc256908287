import { afterAll, beforeAll, expect, test } from 'vitest'
import type { openApp } from '../support/app.ts'
import { startIndexed, type World } from '../support/indexing.ts'

const USDC = 10n ** 6n

/** A thousand on demand. */
const CYCLES = Number(process.env.CYCLES ?? 30)

let world: World
let indexed: Awaited<ReturnType<typeof startIndexed>>
/** Two API processes over one database. */
let apis: readonly Awaited<ReturnType<typeof openApp>>[]

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  apis = [await indexed.open(), await indexed.open()]
})
afterAll(() => indexed?.close())

const deposits = () => `/hedge/deposits/8453/wallet/${world.lp.account.address}`

const read = async (query: string, of = 0) => {
  const api = apis[of]
  if (api === undefined) throw new RangeError('there are two')
  return api.get(`${deposits()}?${query}`)
}

test(`${CYCLES} times a transaction and then the list: it is there`, { timeout: CYCLES * 5_000 }, async () => {
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const id = await world.actions.deposit(world.lp, 1n, 20n * USDC)
    const { hash, block } = await world.newest()
    const query = cycle % 3 === 0 ? `minBlock=${block}` : `afterTx=${hash}`
    // The page before it is asked for too, so that it may be kept.
    const [before, { status, data, headers, error }] = await Promise.all([read('', cycle % 2), read(query, cycle % 2)])
    expect(before.status).toBe(200)
    expect([cycle, status, error]).toEqual([cycle, 200, undefined])
    expect(data).toContain(Number(id))
    expect(headers['x-data-source']).toBe('database')
    expect(BigInt(String(headers['x-block-number']))).toBeGreaterThanOrEqual(block)
  }
})

test('a transaction that reverted has a block like any other', async () => {
  const { client, node } = world.actions
  const hash = await node.sendUnsignedTransaction({
    ...{ from: world.stranger.account.address, to: world.deployment.diamond, data: '0x12345678', gas: 1_000_000n },
  })
  expect((await client.waitForTransactionReceipt({ hash })).status).toBe('reverted')
  expect((await read(`afterTx=${hash}`)).status).toBe(200)
})

test('what does not come in time is 503, with both blocks, and can be asked for again', async () => {
  const { number } = await world.actions.client.getBlock()
  const late = await read(`minBlock=${number + 5n}&waitMs=100`)
  expect([late.status, late.headers['retry-after']]).toEqual([503, '1'])
  expect(late.error?.message).toMatch(new RegExp(`block ${number + 5n} of chain 8453 .* at block ${number}`))
  const unknown = await read(`afterTx=0x${'ab'.repeat(32)}&waitMs=100`)
  expect([unknown.status, unknown.headers['retry-after']]).toEqual([503, '1'])
  expect(unknown.error?.message).toMatch(/no node of chain 8453 .* at block \d+$/)
  // Whoever waits is answered as soon as it is there.
  const waiting = read(`minBlock=${number + 5n}&waitMs=10000`, 1)
  await world.actions.node.mine({ blocks: 5 })
  expect((await waiting).status).toBe(200)
})

test('what cannot be meant is refused by its name', async () => {
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

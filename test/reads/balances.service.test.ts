import { sql } from 'drizzle-orm'
import { type Address, getAddress, type Hex, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { storeTokens } from '../../src/db/index/tokens.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { Balances } from '../../src/reads/portfolio/balances-records.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { startWorld } from '../support/world.ts'

type Api = Awaited<ReturnType<typeof openApp>>
type World = Awaited<ReturnType<typeof startWorld>>

let worlds: readonly [World, World]
let store: TestDatabase
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let api: Api

/** A token that is not configured, and a wallet with many of them. */
const further = getAddress(`0x${'a1'.repeat(20)}`)
const collector = getAddress(`0x${'c0'.repeat(20)}`)

const addressOf = (name: 'creator' | 'lp' | 'hedger' | 'stranger'): Address => worlds[0][name].account.address

/** Stores an event of a wallet with a payment token. Ids of the chain are far below. */
const addEvent = (chainId: ChainId, id: number, creator: Address, token: Address) =>
  api.database.run((handle) =>
    handle.execute(sql`INSERT INTO events (chain_id, id, creator, underlying, strike, premium_rate, expiry_date, payment_token, block_number, block_hash, block_timestamp)
      SELECT chain_id, ${id}, decode(${creator.slice(2)}, 'hex'), underlying, strike, premium_rate, expiry_date, decode(${token.slice(2)}, 'hex'), block_number, block_hash, block_timestamp
      FROM events WHERE chain_id = ${chainId} AND id = 1`),
  )

beforeAll(async () => {
  ;[worlds, store] = await Promise.all([Promise.all([startWorld(8453), startWorld(56)]), createTestDatabase()])
  proxy = await startNodeProxy(worlds[0].anvil.url)
  api = await openApp({
    databaseUrl: store.url,
    nodes: [
      { url: proxy.url, deployment: worlds[0].deployment },
      { url: worlds[1].anvil.url, deployment: worlds[1].deployment },
    ],
  })
  for (const { deployment } of worlds)
    await indexAll({ chain: chainOf(api.sources.chains, deployment.chainId), database: api.database })
  await addEvent(8453, 1_000, addressOf('creator'), further)
  await api.database.transaction((handle) =>
    storeTokens(handle, 8453, [{ token: further, symbol: 'FUR', decimals: 9 }]),
  )
})
afterAll(async () => {
  await api?.close()
  await Promise.all([proxy?.close(), store?.close(), ...(worlds ?? []).map((world) => world.close())])
})

const balances = async (wallet: Address, query = '', from: Api = api) => {
  const { status, data, headers } = await from.get(`/wallets/${wallet}/balances${query}`)
  expect(status).toBe(200)
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-data-source': 'chain' })
  expect(headers.etag).toBeUndefined()
  return Balances.parse(data)
}

/** The same amounts, each asked of the node on its own, at the block of the answer. */
const direct = async ({ actions, deployment }: World, wallet: Address, tokens: readonly Hex[], block: number) => {
  const blockNumber = BigInt(block)
  const read = { abi: erc20Abi, blockNumber } as const
  return {
    native: String(await actions.client.getBalance({ address: wallet, blockNumber })),
    tokens: await Promise.all(
      tokens.map(async (address) => ({
        balance: String(
          await actions.client.readContract({ ...read, address, functionName: 'balanceOf', args: [wallet] }),
        ),
        allowance: String(
          await actions.client.readContract({
            ...{ ...read, address, functionName: 'allowance', args: [wallet, deployment.diamond] },
          }),
        ),
      })),
    ),
  }
}

test('balances and allowances equal those that direct calls return, on both chains and at the block of the answer', async () => {
  const wallets = [...(['creator', 'lp', 'hedger', 'stranger'] as const).map(addressOf), collector]
  for (const wallet of wallets) {
    const { chains, wallet: shown } = await balances(wallet)
    expect(shown).toBe(wallet)
    expect(chains.map(({ chainId, status }) => [chainId, status])).toEqual([
      [8453, 'ok'],
      [56, 'ok'],
    ])
    for (const [at, { block, native, tokens }] of chains.entries()) {
      const world = worlds[at]
      if (world === undefined || block === null) throw new Error('both chains answer')
      const configured = tokens.filter(({ token }) => token !== further)
      expect(configured).toMatchObject([{ token: world.deployment.usdc, symbol: 'USDC' }])
      const found = await direct(
        world,
        wallet,
        configured.map(({ token }) => getAddress(token)),
        block.number,
      )
      expect(native).toEqual({ symbol: world.deployment.symbol, decimals: 18, balance: found.native })
      expect(configured.map(({ balance, allowance }) => ({ balance, allowance }))).toEqual(found.tokens)
      const { hash, timestamp } = await world.actions.client.getBlock({ blockNumber: BigInt(block.number) })
      expect(block).toEqual({ number: block.number, hash, timestamp: Number(timestamp) })
    }
  }
})

test('an answer is never stored, and shows a transfer that the index does not know', async () => {
  const before = await balances(addressOf('hedger'), '?chainId=8453')
  const { transactionHash } = await worlds[0].actions.mint(worlds[0].hedger, worlds[0].deployment.usdc, 123n)
  const after = await balances(addressOf('hedger'), `?chainId=8453&afterTx=${transactionHash}`)
  const of = ({ chains }: typeof before) => BigInt(chains[0]?.tokens[0]?.balance ?? -1)
  expect(of(after) - of(before)).toBe(123n)
})

test('an answer takes one batch per chain, in addition to its head', async () => {
  await balances(addressOf('creator'), '?chainId=8453')
  proxy.requests()
  await balances(addressOf('creator'), '?chainId=8453')
  expect(proxy.requests()).toBeLessThanOrEqual(2)
})

describe('a token that', () => {
  const codes: Readonly<Record<string, Hex>> = {
    'has no code': '0x',
    reverts: '0x5f5ffd',
    'reverts with a megabyte': '0x621000005ffd',
    'returns a megabyte': '0x621000005ff3',
    'returns 300 kilobytes of zeros': '0x620500005ff3',
    'returns 31 bytes': '0x601f5ff3',
    'takes all gas': '0x5b5f56',
    'is not valid code': '0xfe',
  }

  test.each(Object.entries(codes))('%s does not affect the others', async (name, bytecode) => {
    await worlds[0].actions.node.setCode({ address: further, bytecode })
    await worlds[0].actions.node.mine({ blocks: 1 })
    // A head that was read just before would be that of the code before.
    const { number } = await worlds[0].actions.client.getBlock()
    const { chains } = await balances(addressOf('creator'), `?chainId=8453&minBlock=${number}`)
    const [usdc, other] = chains[0]?.tokens ?? []
    expect(usdc?.balance).toBe(String(await worlds[0].actions.balance(worlds[0].deployment.usdc, addressOf('creator'))))
    // Within its gas a token may return many bytes, of which the first word counts.
    const amount = name.endsWith('zeros') ? '0' : null
    expect(other).toEqual({ token: further, symbol: 'FUR', decimals: 9, balance: amount, allowance: amount })
  })
})

test('a wallet with many tokens gets the configured ones and those of its newest events, 20 in total', async () => {
  for (let id = 2_000; id < 2_030; id += 1)
    await addEvent(8453, id, collector, getAddress(numberToHex(id, { size: 20 })))
  const { chains } = await balances(collector, '?chainId=8453')
  const newest = Array.from({ length: 19 }, (_, at) => getAddress(numberToHex(2_029 - at, { size: 20 })))
  expect(chains[0]?.tokens.map(({ token }) => token)).toEqual([worlds[0].deployment.usdc, ...newest])
})

test('a chain without nodes is unavailable, and the response is a 503 when no chain can be read', async () => {
  const [{ anvil, deployment }, { deployment: other }] = worlds
  const one = await openApp({
    databaseUrl: store.url,
    nodes: [{ url: anvil.url, deployment }, { deployment: other }],
  })
  const none = await openApp({ databaseUrl: store.url, nodes: [{ deployment }, { deployment: other }] })
  try {
    const { chains } = await balances(addressOf('lp'), '', one)
    expect(chains.map(({ status }) => status)).toEqual(['ok', 'unavailable'])
    expect(chains[1]).toEqual({ chainId: 56, status: 'unavailable', block: null, native: null, tokens: [] })
    expect((await one.get(`/wallets/${addressOf('lp')}/balances`)).headers['x-stale']).toBe('1')
    expect((await one.get(`/wallets/${addressOf('lp')}/balances?chainId=56`)).status).toBe(503)
    expect((await none.get(`/wallets/${addressOf('lp')}/balances`)).status).toBe(503)
    // A portfolio is read from the index.
    const { status, data } = await none.get(`/wallets/${addressOf('lp')}/portfolio?include=balances`)
    expect(status).toBe(200)
    expect(data).toMatchObject({ balances: { chains: [{ status: 'unavailable' }, { status: 'unavailable' }] } })
  } finally {
    await Promise.all([one.close(), none.close()])
  }
})

test('without the database the configured tokens are listed', async () => {
  const nodes = worlds.map(({ anvil, deployment }) => ({ url: anvil.url, deployment }))
  const nodesOnly = await openApp({ nodes })
  try {
    const { chains } = await balances(addressOf('creator'), '', nodesOnly)
    expect(chains.map(({ status, tokens }) => [status, tokens.map(({ token }) => token)])).toEqual(
      worlds.map(({ deployment }) => ['stale', [deployment.usdc]]),
    )
  } finally {
    await nodesOnly.close()
  }
})

test('a portfolio with include=balances has the same balances, for one and for many wallets', async () => {
  const wallets = [addressOf('creator'), addressOf('stranger'), addressOf('creator')]
  const expected = await Promise.all(wallets.map((wallet) => balances(wallet)))
  const one = await api.get(`/wallets/${wallets[0]}/portfolio?include=balances`)
  const many = await api.post('/wallets/portfolio?include=balances,event', { wallets })
  for (const { status, headers } of [one, many]) {
    expect([status, headers['cache-control'], headers.etag]).toEqual([200, 'no-store', undefined])
  }
  expect(one.data).toMatchObject({ balances: expected[0] })
  expect(many.data).toMatchObject(expected.map((it) => ({ balances: it })))
  const { data } = await api.get(`/wallets/${wallets[0]}/portfolio`)
  expect(data).not.toHaveProperty('balances')
})

test('balances of a hundred wallets are read in one request', async () => {
  const wallets = Array.from({ length: 100 }, (_, at) => getAddress(numberToHex(7_000 + at, { size: 20 })))
  wallets[57] = addressOf('hedger')
  const { data } = await api.post('/wallets/portfolio?include=balances', { wallets })
  expect(data).toMatchObject(wallets.map((wallet) => ({ wallet, balances: { wallet } })))
  const [{ balances: shown } = { balances: null }] = (data as { balances: unknown }[]).slice(57)
  expect(shown).toEqual(await balances(addressOf('hedger')))
})

test('minBlock waits for the nodes of the one chain', async () => {
  const path = `/wallets/${addressOf('creator')}/balances`
  const block = await worlds[0].actions.client.getBlockNumber()
  const { status, headers } = await api.get(`${path}?chainId=8453&minBlock=${block}`)
  expect([status, Number(headers['x-block-number']) >= Number(block)]).toEqual([200, true])
  expect((await api.get(`${path}?chainId=8453&minBlock=${block + 100n}&waitMs=50`)).status).toBe(503)
  const refused = await api.get(`${path}?minBlock=1`)
  expect([refused.status, refused.error?.details?.map((it) => it.path)]).toEqual([400, ['chainId']])
})

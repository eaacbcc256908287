import { sql } from 'drizzle-orm'
import { type Address, publicActions } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CHANNEL } from '../../src/db/changes/channel.ts'
import { saveHeartbeat } from '../../src/db/index/work/heartbeat.ts'
import { requestRefresh } from '../../src/db/index/work/refresh-queue.ts'
import { portfoliosOf } from '../../src/reads/portfolio/portfolio.ts'
import { Portfolio } from '../../src/reads/portfolio/records.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { heartbeatAt } from '../support/healthy-index.ts'
import { indexAll } from '../support/index-all.ts'
import { eventually } from '../support/process.ts'
import { receiptOf } from '../support/receipt.ts'
import { startWorld } from '../support/world.ts'

type Api = Awaited<ReturnType<typeof openApp>>

let world: Awaited<ReturnType<typeof startWorld>>
let store: TestDatabase
let api: Api
let indexOnly: Api

const reader = () => world.actions.node.extend(publicActions)

const see = async (ageSeconds = 0): Promise<void> => {
  const { timestamp, hash, number } = await reader().getBlock()
  await api.database.run(async (handle) => {
    await saveHeartbeat(handle, 8453, heartbeatAt({ number, hash, timestamp }))
    await handle.execute(sql`UPDATE heartbeats SET reported_at = now() - ${ageSeconds} * interval '1 second'`)
    await handle.execute(sql`SELECT pg_notify(${CHANNEL}, '')`)
  })
  // Only a test makes a heartbeat old at once. Cached answers are used until the process has read it.
  await eventually('the heartbeat is known', () => {
    const { heartbeat = null } = api.sources.changes.reached(8453) ?? {}
    return heartbeat !== null && Math.floor(heartbeat.ageSeconds / 60) === Math.floor(ageSeconds / 60)
  })
}

beforeAll(async () => {
  ;[world, store] = await Promise.all([startWorld(), createTestDatabase()])
  const { deployment, anvil } = world
  api = await openApp({ databaseUrl: store.url, nodes: [{ url: anvil.url, deployment }] })
  indexOnly = await openApp({ databaseUrl: store.url, nodes: [{ deployment }] })
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
  await see()
})
afterAll(async () => {
  await Promise.all([api?.close(), indexOnly?.close()])
  await Promise.all([store?.close(), world?.close()])
})

const addressOf = (wallet: 'creator' | 'lp' | 'hedger' | 'stranger'): Address => world[wallet].account.address

const portfolio = async (wallet: Parameters<typeof addressOf>[0], query = '', from: Api = api) =>
  Portfolio.parse((await from.get(`/wallets/${addressOf(wallet)}/portfolio${query}`)).data)

const Row = z.looseObject({ id: z.number(), eventId: z.number().optional() })

/** Reads the rows of a list, and the records of the same entities by the reads of the specification, from the chain. */
const bothSides = async (kind: 'events' | 'positions' | 'deposits', from: Api) => {
  const { data } = await from.get(`/hedge/${kind}?chainId=8453&include=stats,utilization,range&order=asc`)
  const rows = z.array(Row).parse(data)
  const told = async (path: string) => (await api.get(`/hedge/${path}`)).data
  const records = await Promise.all(
    rows.map(async ({ id, eventId = id }) => ({
      ...z.looseObject({}).parse(await told(`${kind}/8453/${id}`)),
      stats: await told(`events/8453/${eventId}/stats`),
      utilization: await told(`events/8453/${eventId}/utilization`),
      range: await told(`events/8453/${eventId}/range`),
    })),
  )
  return { rows, records }
}

describe.each(['events', 'positions', 'deposits'] as const)('rows of %s', (kind) => {
  const extra = { chainId: 8453, symbol: 'USDC', decimals: 6 }

  test('have the records of the single reads, and report their source', async () => {
    const { rows, records } = await bothSides(kind, indexOnly)
    expect(rows.length).toBeGreaterThan(2)
    for (const [at, row] of rows.entries()) {
      expect(row).toMatchObject({ ...records[at], ...extra, token: world.deployment.usdc })
      const { transactions } = await reader().getBlock({ blockNumber: BigInt(Number(row.createdBlock)) })
      expect(transactions).toContain(row.createdTx)
    }
  })

  test('are read from the chain until they are observed, and are a 503 when no node is in reach', async () => {
    const before = await bothSides(kind, indexOnly)
    const one = kind.slice(0, -1)
    await api.database.run(async (handle) => {
      await handle.execute(sql`CREATE TABLE aside AS SELECT * FROM ${sql.identifier(`${one}_observations`)}`)
      await handle.execute(sql`DELETE FROM ${sql.identifier(`${one}_observations`)}`)
    })
    try {
      expect((await bothSides(kind, api)).rows).toEqual(before.rows)
      expect((await indexOnly.get(`/hedge/${kind}`)).status).toBe(503)
      // A portfolio leaves such rows out.
      const { chains } = await portfolio(kind === 'positions' ? 'hedger' : 'creator', '?state=all', indexOnly)
      expect(chains.map(({ status }) => status)).toEqual(['stale', 'unavailable'])
    } finally {
      await api.database.run(async (handle) => {
        await handle.execute(sql`INSERT INTO ${sql.identifier(`${one}_observations`)} SELECT * FROM aside`)
        await handle.execute(sql`DROP TABLE aside`)
      })
    }
  })
})

test('a portfolio contains the rows of the lists of the wallet', async () => {
  for (const wallet of ['creator', 'lp', 'hedger', 'stranger'] as const) {
    const all = await portfolio(wallet, '?state=all&chainId=8453')
    const listed = async (kind: string, by: string) =>
      (await api.get(`/hedge/${kind}?chainId=8453&${by}=${addressOf(wallet)}`)).data
    expect(all.positions).toEqual(await listed('positions', 'wallet'))
    expect(all.deposits).toEqual(await listed('deposits', 'wallet'))
    expect(all.events).toEqual(await listed('events', 'creator'))
    expect(all.complete).toBe(true)
  }
})

test('an active portfolio contains the rows that can still change or pay out', async () => {
  // Position 4 is claimable; those of event 1 are open.
  expect((await portfolio('hedger')).positions.map(({ id }) => id)).toEqual([4, 3, 2, 1])
  expect((await portfolio('creator')).events.map(({ id }) => id)).toEqual([3, 2, 1])
})

test('totals are the sums of the rows', async () => {
  const { positions, totals } = await portfolio('hedger', '?state=all&chainId=8453')
  const sum = (amounts: readonly string[]): string => amounts.reduce((all, one) => all + BigInt(one), 0n).toString()
  const none = { deposited: '0', premiums: '0', capital: '0', creatorEarnings: '0' }
  expect(totals).toEqual([
    {
      ...{ chainId: 8453, token: world.deployment.usdc, symbol: 'USDC', decimals: 6, ...none },
      notional: sum(positions.map(({ notional }) => notional)),
      premiumPaid: sum(positions.map(({ premiumPaid }) => premiumPaid)),
      payout: sum(positions.map(({ payoutAmount }) => payoutAmount)),
    },
  ])
})

/** The portfolios of all wallets with at most `maxRows` rows of a kind and chain. */
const capped = async (maxRows: number | undefined, state: 'active' | 'all') => {
  const wallets = (['creator', 'lp', 'hedger', 'stranger'] as const).map(addressOf)
  const asked = { wallets, chainIds: [8453], state, ...(maxRows !== undefined && { maxRows }) }
  const pricing = { values: () => Promise.reject(new Error('no values are asked for')) }
  const { records } = await portfoliosOf({ ...api.sources, pricing }, asked)
  return z.array(Portfolio).parse(records)
}

test.each(['active', 'all'] as const)(
  'totals of %s rows are exact for a wallet with more rows than a portfolio has, below, at and above the bound',
  async (state) => {
    const whole = await capped(undefined, state)
    const most = Math.max(...whole.flatMap((it) => [it.positions, it.deposits, it.events].map(({ length }) => length)))
    expect(most).toBeGreaterThan(2)
    for (let maxRows = 0; maxRows <= most; maxRows += 1) {
      for (const [at, cut] of (await capped(maxRows, state)).entries()) {
        const { positions = [], deposits = [], events = [], claimables = [], totals } = whole[at] ?? {}
        expect(cut.totals).toEqual(totals)
        expect(cut.positions.length).toBe(Math.min(positions.length, maxRows))
        expect(cut.complete).toBe([positions, deposits, events].every(({ length }) => length <= maxRows))
        expect(cut.claimablesComplete).toBe(cut.claimables.length === claimables.length)
      }
    }
    // Rows that can be claimed come first, so that all claims are listed although rows are left out.
    expect((await capped(most - 1, state)).some((it) => it.complete !== it.claimablesComplete)).toBe(true)
  },
)

test('a portfolio distinguishes a chain that is not indexed, one that lags, and one with a silent worker', async () => {
  const statuses = async () => (await portfolio('hedger')).chains.map(({ status }) => status)
  expect(await statuses()).toEqual(['ok', 'unavailable'])
  await see(3_600)
  expect(await statuses()).toEqual(['stale', 'unavailable'])
  const { headers } = await api.get(`/hedge/positions?chainId=8453&wallet=${addressOf('hedger')}`)
  expect(headers).toMatchObject({ 'x-stale': '1', 'x-data-source': 'database' })
  expect(Number(headers['x-index-lag'])).toBeGreaterThanOrEqual(3_600)
  await see()
  expect(await statuses()).toEqual(['ok', 'unavailable'])
  expect((await api.get(`/wallets/${addressOf('hedger')}/portfolio?chainId=56`)).status).toBe(503)
  expect((await api.get('/hedge/positions')).error?.message).toContain('chain 56 is not indexed yet')
})

test('several portfolios are in the order of the requested wallets', async () => {
  const wallets = (['hedger', 'stranger', 'creator', 'hedger'] as const).map(addressOf)
  const { data } = await api.post('/wallets/portfolio', {
    wallets: wallets.map((it) => it.toLowerCase()),
    chainIds: [8453],
    state: 'all',
  })
  const many = z.array(Portfolio).parse(data)
  expect(many.map(({ wallet }) => wallet)).toEqual(wallets)
  expect(many[0]).toEqual(await portfolio('hedger', '?state=all&chainId=8453'))
  expect(many[3]).toEqual(many[0])
})

test.each([
  ['wallets', { wallets: [] }],
  ['wallets', { wallets: Array.from({ length: 101 }, () => '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266') }],
  ['wallets.0', { wallets: ['0x12'] }],
  ['state', { wallets: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'], state: 'open' }],
  ['chainIds.0', { wallets: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'], chainIds: [1] }],
  ['chainId', { wallets: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'], chainId: 56 }],
])('an invalid %s is rejected', async (path, body) => {
  const { status, error } = await api.post('/wallets/portfolio', body)
  expect(status).toBe(400)
  expect(error?.details?.map((detail) => detail.path)).toContain(path)
})

/** The protocol's fee of each kind of claim in this world, in parts per million. */
const FEES = { payout: 10_000n, premiums: 20_000n, capital: 0n, 'creator-earnings': 0n } as const

test('the request of each claimable amount builds a claim that pays the amount minus the fee', async () => {
  const paid: string[] = []
  for (const name of ['creator', 'lp', 'hedger'] as const) {
    const wallet = world[name]
    const { claimables, totals } = await portfolio(name)
    const claimed = claimables.reduce((all, { amount }) => all + BigInt(amount), 0n)
    expect(
      totals.reduce(
        (all, it) => all + [it.payout, it.premiums, it.capital, it.creatorEarnings].reduce((a, b) => a + BigInt(b), 0n),
        0n,
      ),
    ).toBe(claimed)
    for (const { kind, amount, token, build } of claimables) {
      expect(build.path.startsWith('/v1/')).toBe(true)
      const built = await api.post(build.path.slice('/v1'.length), { ...build.body, from: wallet.account.address })
      expect(built.status).toBe(200)
      const { to, data } = z.object({ to: z.custom<Address>(), data: z.custom<Address>() }).parse(built.data)
      expect(z.object({ estimatedGas: z.string().nullable() }).parse(built.data).estimatedGas).not.toBeNull()

      const before = await world.actions.balance(token as Address, wallet.account.address)
      const hash = await world.actions.node.sendUnsignedTransaction({
        from: wallet.account.address,
        to,
        data,
        gas: 1_000_000n,
      })
      await world.actions.node.mine({ blocks: 1 })
      expect((await receiptOf(reader(), hash)).status).toBe('success')
      const gain = (await world.actions.balance(token as Address, wallet.account.address)) - before
      expect(gain).toBe(BigInt(amount) - (BigInt(amount) * FEES[kind]) / 1_000_000n)
      paid.push(kind)
    }
  }
  expect(new Set(paid)).toEqual(new Set(['payout', 'premiums', 'capital', 'creator-earnings']))

  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
  expect((await portfolio('hedger')).claimables).toEqual([])
  // The claims paid fees, of which the creator gets a part.
  expect(new Set((await portfolio('creator')).claimables.map(({ kind }) => kind))).toEqual(
    new Set(['creator-earnings']),
  )
})

test('a portfolio with minBlock waits until the entities of that block are refreshed', async () => {
  const requestFrom = (id: bigint, fromBlock?: bigint | null) =>
    api.database.transaction((handle) => requestRefresh(handle, 8453, [{ subject: 'position', id }], fromBlock))
  const ask = (waitMs: number) => {
    const wanted = `minBlock=1&waitMs=${waitMs}`
    return Promise.all([
      api.get(`/hedge/positions?chainId=8453&${wanted}`),
      api.get(`/wallets/${addressOf('hedger')}/portfolio?chainId=8453&${wanted}`),
      api.post(`/wallets/portfolio?${wanted}`, { wallets: [addressOf('hedger')], chainIds: [8453] }),
    ])
  }
  // Neither a later block nor a sweep delays these reads.
  const number = (await api.sources.queries.indexed(8453))?.number ?? 0n
  await expect.poll(() => api.sources.changes.reached(8453)?.block.number).toBe(number)
  await requestFrom(1n, number + 1n)
  await requestFrom(2n, null)
  for (const { status } of await ask(51)) expect(status).toBe(200)
  await requestFrom(1n, number)
  for (const { status, error } of await ask(50))
    expect([status, error?.message]).toEqual([503, expect.stringContaining('not refreshed yet')])
  // A list of ids depends on the indexed block only.
  expect((await api.get(`/hedge/positions/8453/wallet/${addressOf('hedger')}?minBlock=1&waitMs=50`)).status).toBe(200)
  const waiting = ask(10_000)
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
  for (const { status } of await waiting) expect(status).toBe(200)
})

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { storeObservations } from '../../src/db/index/observations.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { startProcess } from '../faults/process.ts'
import { createTestDatabase } from '../support/database.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf, type Plan, putSeeded, seedHeartbeat, seedRows, seedToken, walletOf } from '../support/seed-index.ts'
import { THIRD, thirdFacts, threeChains, threeIds, unreachable } from '../support/three-chains.ts'

/*
 * A third chain is a change of the environment alone. An API runs as in production over an index with rows of three
 * chains, whose nodes are out of reach. The name, symbol and decimals of the third chain come from the environment. The
 * life of events on real nodes is in `third-chain-nodes.service.test.ts`.
 */

const unsupported = 'unsupported chainId: expected one of 8453, 56, 137'
/** Rows of each kind on each chain. The fourth event is settled. */
const ROWS = { events: 4, deposits: 2, positions: 2 }
const plan: Plan = { token: seedToken, rowsABlock: 2, wallets: 3, events: 4 }
const tip = blockOf(10n)
const fees = {
  ...{ eventCreationFee: 5n, hedgerFeeRate: 5_000n, hedgerPayoutFeeRate: 5_000n },
  ...{ lpProfitFeeRate: 50_000n, creatorLoyaltyRate: 100_000n },
}
/** It has rows on every chain. */
const wallet = walletOf(1)

const closers = createClosers()
let database: ReturnType<typeof openDatabase>
let environment: Readonly<Record<string, string>>
let api: Awaited<ReturnType<typeof startApi>>

/** The worker reached every chain just now. */
const beat = (): Promise<void> =>
  database.run(async (handle) => {
    for (const chainId of threeIds) await seedHeartbeat(handle, chainId, tip)
  })

const Body = z.looseObject({ data: z.any(), meta: z.any().optional(), error: z.any().optional() }).partial()

const startApi = async (more: Readonly<Record<string, string>> = {}) => {
  const port = await freePort()
  const started = await startProcess('api', { ...environment, ...more, HOST: '127.0.0.1', PORT: String(port) })
  closers.add('API', started, (it) => it.stop())
  const url = `http://127.0.0.1:${port}`
  const ask = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${url}${path}`, init)
    return { status: response.status, ...Body.parse(await response.json()) }
  }
  const isReady = async (): Promise<boolean> => {
    if (started.hasExited()) throw new Error(started.tail())
    await beat()
    return (await ask('/readyz').catch(() => undefined))?.status === 200
  }
  await eventually('the API is ready', isReady, 60_000)
  return { url, ask }
}

beforeAll(async () => {
  const store = await createTestDatabase()
  closers.add('database', store, (it) => it.close())
  database = openDatabase(store.url, { maxConnections: 2 })
  closers.add('connections', database, (it) => it.close())
  for (const { chainId } of threeChains) {
    const observed = {
      events: [],
      deposits: [],
      positions: [],
      protocol: { fees, paused: false, total: 4n, loupeHash: null },
    }
    await database.transaction(async (handle, copy) => {
      await putSeeded(handle, copy, chainId, tip, seedRows(plan, ROWS))
      await storeObservations(handle, chainId, tip, observed)
    })
  }
  environment = {
    ...longTimeouts,
    CHAINS: threeIds.join(),
    ...unreachable(threeChains),
    DATABASE_URL: store.url,
    DRAIN_MS: '0',
    LOG_LEVEL: 'fatal',
    METRICS_PORT: 'off',
  }
  api = await startApi()
}, 120_000)
beforeEach(beat)
afterAll(() => closers.close())

describe('with a third chain in the environment', () => {
  test('the chains are listed in the order of CHAINS, with the facts of the environment', async () => {
    const { data } = await api.ask('/v1/chains')
    expect(data.map(({ chainId }: { chainId: number }) => chainId)).toEqual(threeIds)
    expect(data[2]).toMatchObject({ chainId: THIRD, ...thirdFacts, usdt: null })
  })

  test('readiness and status report every chain', async () => {
    for (const path of ['/readyz', '/status']) {
      const { status, data } = await api.ask(path)
      expect([path, status]).toEqual([path, 200])
      expect(data.chains.map(({ chainId }: { chainId: number }) => chainId)).toEqual(threeIds)
    }
  })

  test('lists and the feed merge the rows of every chain, and narrow them to the chains that are asked for', async () => {
    const chainsOf = async (list: string, query = ''): Promise<number[]> => {
      const { data, meta } = await api.ask(`/v1/hedge/${list}${query}`)
      const found: number[] = data.map(({ chainId }: { chainId: number }) => chainId)
      if (list === 'events')
        expect(meta.asOf.map(({ chainId }: { chainId: number }) => chainId).toSorted()).toEqual(
          [...new Set(found)].toSorted(),
        )
      return found.toSorted()
    }
    const rowsOf = (chains: readonly number[], count: number) =>
      chains.flatMap((chainId) => Array(count).fill(chainId)).toSorted()
    for (const [list, count] of [
      ['events', ROWS.events],
      ['settlements', 1],
    ] as const) {
      expect(await chainsOf(list)).toEqual(rowsOf(threeIds, count))
      expect(await chainsOf(list, `?chainId=${THIRD}`)).toEqual(rowsOf([THIRD], count))
    }
    // The feed narrows to one chain.
    expect(await chainsOf('events', `?chainId=${THIRD},56`)).toEqual(rowsOf([THIRD, 56], ROWS.events))
  })

  test('the pages of a list cover every chain', async () => {
    const seen: number[] = []
    for (let cursor = ''; ; ) {
      const { data, meta } = await api.ask(`/v1/hedge/deposits?limit=1${cursor && `&cursor=${cursor}`}`)
      seen.push(...data.map(({ chainId }: { chainId: number }) => chainId))
      if (meta.nextCursor === null) break
      cursor = encodeURIComponent(meta.nextCursor)
    }
    expect(seen.toSorted()).toEqual(threeIds.flatMap((id) => [id, id]).toSorted())
  })

  test('a portfolio has a part for every chain, with the symbol and decimals of its token', async () => {
    const { data: one } = await api.ask(`/v1/wallets/${wallet}/portfolio?state=all`)
    expect(one.chains).toMatchObject(threeIds.map((chainId) => ({ chainId, status: 'ok' })))
    const tokens = one.events.map(({ chainId, symbol, decimals }: Record<string, unknown>) => [
      chainId,
      `${symbol} ${decimals}`,
    ])
    expect(Object.fromEntries(tokens)).toEqual({ 8453: 'USDC 6', 56: 'USDC 18', [THIRD]: 'USDC 8' })
    const { data: many } = await api.ask('/v1/wallets/portfolio', { wallets: [wallet], chainIds: [56, THIRD] })
    expect(many[0].chains.map(({ chainId }: { chainId: number }) => chainId)).toEqual([56, THIRD])
  })

  test('reads that name no chain are of the first', async () => {
    expect((await api.ask('/v1/hedge/fees')).data.chainId).toBe(8453)
    expect((await api.ask(`/v1/hedge/fees?chainId=${THIRD}`)).data.chainId).toBe(THIRD)
  })

  test('an unknown chain is refused in paths, queries and bodies, and the refusal names the three', async () => {
    const refusals = await Promise.all([
      api.ask('/v1/hedge/events/1/1'),
      api.ask('/v1/hedge/fees?chainId=1'),
      api.ask('/v1/hedge/events?chainId=8453,1'),
      api.ask('/v1/hedge/settlements?chainId=1'),
      api.ask('/v1/wallets/portfolio', { wallets: [wallet], chainIds: [1] }),
      api.ask('/v1/tx/hedge/pause', { chainId: 1 }),
      api.ask('/v1/tx/broadcast', { chainId: 1, signedTx: '0x02' }),
    ])
    for (const { status, error } of refusals) {
      expect([status, error.code]).toEqual([400, 'validation_error'])
      expect(error.details).toMatchObject([{ message: unsupported }])
    }
  })

  test('the served API description lists the three', async () => {
    const served = await (await fetch(`${api.url}/v1/openapi.json`)).text()
    expect(served).toContain('"enum":[8453,56,137]')
    expect(served).not.toContain('"enum":[8453,56]')
  })
})

test('rows of chains that are not configured any more are left out, and the others are answered as before', async () => {
  const alone = await startApi({ CHAINS: String(THIRD) })
  const listed = async (path: string): Promise<number[]> =>
    (await alone.ask(path)).data.map(({ chainId }: { chainId: number }) => chainId)
  expect(await listed('/v1/chains')).toEqual([THIRD])
  expect(new Set(await listed('/v1/hedge/events'))).toEqual(new Set([THIRD]))
  expect(await listed('/v1/hedge/settlements')).toEqual([THIRD])
  // A client that kept an answer of the three chains gets the other answer, and not a 304.
  for (const path of ['/v1/hedge/events', '/v1/hedge/settlements', `/v1/wallets/${wallet}/portfolio`]) {
    let tag: string | null = null
    await eventually(`a tag of ${path}`, async () => {
      tag = (await fetch(`${api.url}${path}`)).headers.get('etag')
      return tag !== null
    })
    await eventually(`a tag of ${path} without the other chains`, async () => {
      const { headers, status } = await fetch(`${alone.url}${path}`, { headers: { 'if-none-match': String(tag) } })
      expect([path, status]).toEqual([path, 200])
      return headers.has('etag')
    })
  }
  expect((await alone.ask('/v1/hedge/fees')).data.chainId).toBe(THIRD)
  expect((await alone.ask('/v1/hedge/events/8453/1')).error.details).toMatchObject([
    { message: `unsupported chainId: expected one of ${THIRD}` },
  ])
  // Every example of the description is of a chain that it lists.
  const described = await (await fetch(`${alone.url}/v1/openapi.json`)).text()
  expect(described).toContain(`"chainId":${THIRD}`)
  expect(described.match(/"chainId":\d+/g)?.filter((text) => text !== `"chainId":${THIRD}`)).toEqual([])
  expect(described).not.toContain('"8453,56"')
})

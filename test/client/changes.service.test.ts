import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type ChangesOptions, createClient, type Reorg, type Settlement } from 'fx-protection-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { announce } from '../../src/db/changes/changes.ts'
import { resumeFeed } from '../../src/db/changes/feed.ts'
import { aspects, settlementsScope, touching, touchingAll } from '../../src/db/changes/scopes.ts'
import { type Draft, insertSettlements } from '../../src/db/index/settlements.ts'
import { rollBack } from '../../src/db/index/write.ts'
import type { Copy, Database, Handle } from '../../src/db/pool.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { configuredChains } from '../../src/protocol/chains.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { type Process, startProcess } from '../faults/process.ts'
import { createTestDatabase } from '../support/database.ts'
import { longTimeouts } from '../support/long-timeouts.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually, untilLive } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'
import {
  blockOf,
  putSeeded,
  seedDeposit,
  seedEvent,
  seedPosition,
  seedToken,
  walletOf,
  writeSeeded,
} from '../support/seed-index.ts'

/*
 * The client while the service changes and breaks: an API process on an index that the test writes. No node is in reach.
 */

const CHAIN = 8453
const ROWS_A_BLOCK = 10
const ROWS = byForm(900, 50_000)
const LIMIT = byForm(20, 50)
const REORGS = byForm(2, 5)
const KILLS = byForm(1, 50)

/** Blocks that a reorg removes. */
const DEPTH = 30

const plan = { token: seedToken, rowsABlock: ROWS_A_BLOCK, wallets: 50, events: 100 } as const

const closers = createClosers()
let database: Database
let env: Readonly<Record<string, string>>
let api: Process
let baseUrl: string

const start = async (): Promise<void> => {
  api = await startProcess('api', env)
}

beforeAll(async () => {
  const store = closers.add('store', await createTestDatabase(), (it) => it.close())
  database = closers.add('database', openDatabase(store.url), (it) => it.close())
  const events = range(1, plan.events).map((id) => seedEvent(id, plan))
  await writeSeeded(database, CHAIN, blockOf(1n), { events })
  await writeSeeded(database, 56, blockOf(1n), { events, deposits: [seedDeposit(1, plan)] })
  const port = await freePort()
  const nowhere = 'http://127.0.0.1:9'
  const ofChain = (id: number) => ({
    ...{ [`RPC_URLS_${id}`]: nowhere, [`PUBLIC_RPC_URL_${id}`]: nowhere, [`USDC_ADDRESS_${id}`]: seedToken },
    ...{ [`DIAMOND_ADDRESS_${id}`]: `0x${'00'.repeat(19)}01`, [`START_BLOCK_${id}`]: '0' },
  })
  env = {
    ...{ ...ofChain(CHAIN), ...ofChain(56), ...longTimeouts, DATABASE_URL: store.url, METRICS_PORT: 'off' },
    ...{ HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'warn', DRAIN_MS: '0' },
  }
  baseUrl = `http://127.0.0.1:${port}`
  await start()
  closers.add('api', null, () => api.kill())
  await untilLive(baseUrl)
})
afterAll(() => closers.close())

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at)

let last = 0

/** Rows of a write. They are observed at its last block, and a reorg keeps or removes all rows of a write. */
const CHUNK = 50

const put = (handle: Handle, copy: Copy, from: number, rows: number, fork: number): Promise<void> => {
  const to = from + rows - 1
  const positions = range(from, to).map((id) => seedPosition(id, { ...plan, fork }))
  return putSeeded(handle, copy, CHAIN, blockOf(BigInt(to / ROWS_A_BLOCK), fork), { positions })
}

const arrive = async (rows: number, fork: number): Promise<void> => {
  await database.transaction((handle, copy) => put(handle, copy, last + 1, rows, fork))
  last += rows
}

/** Removes the newest blocks and writes others with the same rows. */
const reorg = (fork: number): Promise<void> =>
  database.transaction(async (handle, copy) => {
    const ancestor = last / ROWS_A_BLOCK - DEPTH
    await rollBack(handle, CHAIN, blockOf(BigInt(ancestor)))
    for (let from = ancestor * ROWS_A_BLOCK + 1; from < last; from += CHUNK) await put(handle, copy, from, CHUNK, fork)
  })

test(`a list of ${ROWS} rows has each row once while rows arrive and ${REORGS} reorgs happen, and reports the reorgs`, async () => {
  while (last < ROWS) await arrive(last < ROWS - 500 ? 500 : CHUNK, 0)
  const client = createClient({ baseUrl })
  const reorgs: Reorg[] = []
  const seen: number[] = []
  let [happened, pages] = [0, 0]
  const rows = client.positions.list({ chainId: CHAIN, limit: LIMIT }, { onReorg: (it) => reorgs.push(it) })
  for await (const { id, notional } of rows) {
    expect(notional).toBe(1_000_000_000n + BigInt(id))
    seen.push(id)
    if (seen.length % LIMIT !== 0) continue
    pages += 1
    if (pages % 10 === 0) await arrive(CHUNK, happened)
    // After the pages of the rows that it removes, so that all rows of the list continue to exist.
    if (pages * LIMIT > (DEPTH + 1) * ROWS_A_BLOCK && happened < REORGS && pages % 20 === 0) await reorg(++happened)
  }
  expect(happened).toBe(REORGS)
  expect(seen).toEqual(range(1, ROWS).reverse())
  expect(reorgs).toEqual([
    {
      type: 'reorg',
      chainId: CHAIN,
      blockNumber: ROWS / ROWS_A_BLOCK,
      blockHash: expect.any(String),
      rowsBefore: expect.any(Number),
    },
  ])
})

/** Adds items to the feed, of events in turn; returns their numbers. */
const settle = async (count: number): Promise<void> => {
  const draft = (at: number): Draft => ({
    ...{ type: at % 5 === 4 ? 'reverted' : 'settled', eventId: BigInt(1 + (at % plan.events)), settledAt: 1n },
    ...{ triggered: true, settlementPrice: BigInt(at), blockNumber: 1n, blockHash: `0x${'22'.repeat(32)}` },
  })
  await database.transaction(async (handle) => {
    const newest = await announce(handle, CHAIN, touching(settlementsScope), count)
    await insertSettlements(handle, CHAIN, range(1, count).map(draft), newest)
  })
}

const stored = async (): Promise<number[]> => {
  const rows = await database.rows({ text: 'SELECT seq FROM settlements ORDER BY seq', values: [] })
  return rows.map(([seq]) => Number(seq))
}

// The test of changes below kills the service too.
test.runIf(byForm(false, true))(
  `a feed that is followed while the service is killed (${KILLS} times) has each item once`,
  async () => {
    const stop = new AbortController()
    const client = createClient({ baseUrl })
    const items: Settlement[] = []
    const modes: string[] = []
    const onMode = (mode: string): void => void modes.push(mode)
    const following = (async () => {
      for await (const item of client.settlements.follow({ since: 0, signal: stop.signal, onMode })) items.push(item)
    })()
    for (let kills = 0; kills < KILLS; kills += 1) {
      await eventually('a stream', () => modes.filter((mode) => mode === 'stream').length > kills)
      await settle(250)
      await eventually('items', () => items.length > kills * 300)
      const writing = settle(50)
      await api.kill()
      await writing
      await sleep(byForm(100, 500))
      await start()
    }
    const all = await stored()
    await eventually('all items', () => items.length >= all.length)
    await settle(1)
    await eventually('the last item', () => items.length > all.length)
    stop.abort()
    await following
    expect(items.map(({ seq }) => seq)).toEqual(await stored())
    expect(items.filter(({ type }) => type === 'reverted').length).toBeGreaterThan(0)
    expect(items.every(({ settlementPrice }) => typeof settlementPrice === 'bigint')).toBe(true)
  },
)

/** Begins the feed of changes, as the first write near the head does. */
const beginChanges = (): Promise<void> =>
  database.transaction(async (handle) => {
    const reset = await resumeFeed(handle, CHAIN)
    await announce(handle, CHAIN, reset === null ? touching() : touchingAll(reset))
  })

/** Changes some wallets and events. */
const touch = (count: number): Promise<void> =>
  database.transaction(async (handle) => {
    const scopes = range(1, count).flatMap(() => {
      const at = Math.floor(Math.random() * 200)
      const wallet = [`wallet:${walletOf(at).toLowerCase()}`, aspects.positions] as const
      return [wallet, [`event:${at}`, aspects.events] as const]
    })
    await announce(handle, CHAIN, { ...touching(), scopes: new Map(scopes) })
  })

/** The newest number of every subject, as the database has it. */
const newestOf = async (type: string): Promise<Record<string, number>> => {
  const text = 'SELECT key, seq FROM feed WHERE type = $1'
  return Object.fromEntries((await database.rows({ text, values: [type] })).map(([key, seq]) => [key, Number(seq)]))
}

test(
  `changes that are followed while the service is killed (${KILLS} times) are all there, also from a stored cursor`,
  async () => {
    await beginChanges()
    const client = createClient({ baseUrl })
    const some = range(0, 20).map((at) => walletOf(at))
    const follow = (options: ChangesOptions) => {
      const stop = new AbortController()
      const [newest, resets]: [Record<string, number>, string[]] = [{}, []]
      let cursor: string | undefined
      let begin = (): void => {}
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const done = (async () => {
        for await (const change of client.changes.follow({ ...options, signal: stop.signal, onMode: begin })) {
          cursor = change.cursor
          if (change.type === 'reset') resets.push(change.reason)
          else if (change.type !== 'protocol')
            newest[change.wallet?.toLowerCase() ?? String(change.eventId)] = change.seq
        }
      })()
      const end = async () => {
        stop.abort()
        await done
        return cursor
      }
      return { newest, resets, begun, end }
    }
    const all = follow({})
    await eventually('the first reset', () => all.resets.length === 1)
    const ofWallets = follow({ wallets: some, since: 'now' })
    const ofEvents = follow({ chainId: CHAIN, types: ['event'], since: 'now' })
    await Promise.all([ofWallets.begun, ofEvents.begun])
    for (let kills = 0; kills < KILLS; kills += 1) {
      await touch(50)
      const writing = touch(50)
      await api.kill()
      await writing
      await sleep(byForm(100, 500))
      await start()
      await untilLive(baseUrl)
    }
    await touch(5)
    const wallets = await newestOf('wallet')
    const events = await newestOf('event')
    await eventually('all', () => isDeepStrictEqual(all.newest, { ...wallets, ...events }))
    await eventually('all of events', () => isDeepStrictEqual(ofEvents.newest, events))
    const expected = Object.fromEntries(
      some.flatMap((wallet) => {
        const seq = wallets[wallet.toLowerCase()]
        return seq === undefined ? [] : [[wallet.toLowerCase(), seq]]
      }),
    )
    await eventually('all of some wallets', () => isDeepStrictEqual(ofWallets.newest, expected))
    expect([all.resets, ofEvents.resets]).toEqual([['backfill'], []])
    await Promise.all([ofWallets.end(), ofEvents.end()])

    const since = await all.end()
    if (since === undefined) throw new Error('no change arrived')
    await touch(10)
    const after = follow({ since })
    const isNew = ([, seq]: readonly [string, number]): boolean => seq > Number(since.split('.')[1])
    const changed = Object.entries({ ...(await newestOf('wallet')), ...(await newestOf('event')) }).filter(isNew)
    await eventually('the rest', () => isDeepStrictEqual(after.newest, Object.fromEntries(changed)))
    expect(after.resets).toEqual([])
    await after.end()
  },
  byForm(60_000, 600_000),
)

test('a feed is polled from the same position while its stream cannot be opened', async () => {
  const isStream = (init?: RequestInit): boolean => new Headers(init?.headers).get('accept') === 'text/event-stream'
  let opened = 0
  const client = createClient({
    baseUrl,
    fetch: async (url, init) => {
      // A proxy that does not let streams through, and then does.
      if (isStream(init) && opened++ === 0) throw new TypeError('fetch failed')
      return fetch(url, init)
    },
  })
  const all = await stored()
  const modes: string[] = []
  const failures: unknown[] = []
  const found: number[] = []
  const watch = { onMode: (mode: string) => modes.push(mode), onFailure: (error: unknown) => failures.push(error) }
  const following = client.settlements.follow({ since: 0, ...watch })
  for await (const { seq } of following) {
    found.push(seq)
    if (found.length === all.length) await settle(1)
    if (found.length > all.length) break
  }
  expect(found).toEqual(await stored())
  expect([modes[0], failures]).toEqual(['poll', [expect.objectContaining({ code: 'network_error' })]])
})

test('a feed can be followed from an item on, and for wallets', async () => {
  await settle(250)
  const client = createClient({ baseUrl })
  const all = await stored()
  const take = async (options: Parameters<typeof client.settlements.follow>[0], count: number) => {
    const found: Settlement[] = []
    for await (const item of client.settlements.follow(options)) if (found.push(item) === count) break
    return found
  }
  const from = all[9] ?? 0
  expect((await take({ since: from }, 5)).map(({ seq }) => seq)).toEqual(all.slice(10, 15))

  // Wallet 13 has the first position, of event 2.
  const wallets = [walletOf(13)]
  const listed = new Set<number>()
  const only = { chainId: CHAIN, wallet: wallets }
  for await (const { eventId } of client.positions.list(only)) listed.add(eventId)
  for await (const { eventId } of client.deposits.list(only)) listed.add(eventId)
  for await (const { id } of client.events.list({ chainId: CHAIN, creator: wallets })) listed.add(id)
  const found = await take({ since: 0, chainId: CHAIN, wallets }, 5)
  const concerned = []
  for await (const item of client.settlements.follow({ since: 0, chainId: CHAIN, eventIds: [...listed] })) {
    if (concerned.push(item) === 5) break
  }
  expect(listed.size).toBeLessThan(plan.events)
  expect(found).toEqual(concerned)
})

test('the last of several resets ends them, over streams and over pages', async () => {
  await beginChanges()
  const client = createClient({ baseUrl })
  const foreign = '0123456789ab.5'
  for (const options of [{}, { wallets: [walletOf(1)] }]) {
    const cursors: string[] = []
    for await (const { type, cursor } of client.changes.follow({ ...options, since: foreign })) {
      expect(type).toBe('reset')
      cursors.push(cursor)
      if (cursor !== foreign) break
    }
    expect(cursors).toHaveLength(configuredChains().length)
  }
})

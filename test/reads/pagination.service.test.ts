import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { rollBack } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { byForm } from '../support/repetitions.ts'
import {
  blockOf,
  type Plan,
  putSeeded,
  seedDeployment,
  seedEvent,
  seedPosition,
  seedToken,
  walletOf,
  writeSeeded,
} from '../support/seed-index.ts'

const ROWS_A_BLOCK = 10
const plan: Plan = { token: seedToken, rowsABlock: ROWS_A_BLOCK, wallets: 20, events: 12 }
const ids = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at)

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>
/** The index writes over separate connections. */
let database: Database

beforeEach(async () => {
  store = await createTestDatabase()
  api = await openApp({
    databaseUrl: store.url,
    nodes: [{ deployment: seedDeployment(8453) }, { deployment: seedDeployment(56) }],
  })
  database = openDatabase(store.url, { maxConnections: 2 })
})
afterEach(async () => {
  await Promise.all([api.close(), database.close()])
  await store.close()
})

const rowsOf = (from: number, to: number, fork: number) => ({
  positions: ids(from, to).map((id) => seedPosition(id, { ...plan, fork })),
  events: from === 1 ? ids(1, plan.events).map((id) => seedEvent(id, plan)) : [],
})

/** Writes positions up to a block, by default that of the last position. */
const write = (
  chainId: ChainId,
  from: number,
  to: number,
  fork = 0,
  block = Math.ceil(to / ROWS_A_BLOCK),
): Promise<void> => writeSeeded(database, chainId, blockOf(BigInt(block), fork), rowsOf(from, to, fork))

/** Replaces the blocks above an ancestor with other blocks that have positions of the same ids, up to a last one. */
const replace = (chainId: ChainId, ancestor: number, to: number, fork: number): Promise<void> =>
  database.transaction(async (handle, copy) => {
    await rollBack(handle, chainId, blockOf(BigInt(ancestor)))
    const block = blockOf(BigInt(Math.max(ancestor, Math.ceil(to / ROWS_A_BLOCK))), fork)
    await putSeeded(handle, copy, chainId, block, rowsOf(ancestor * ROWS_A_BLOCK + 1, to, fork))
  })

const Page = z.object({
  data: z.array(
    z.looseObject({ chainId: z.number(), id: z.number(), createdBlock: z.number(), createdTx: z.string() }),
  ),
  meta: z.object({
    nextCursor: z.string().nullable(),
    asOf: z.array(z.object({ chainId: z.number(), blockNumber: z.number(), reorgedSince: z.boolean() })),
  }),
})

const page = async (query: string, cursor?: string | null) => {
  const { status, data, meta, error } = await api.get(`/hedge/positions?${query}${cursor ? `&cursor=${cursor}` : ''}`)
  expect([status, error]).toEqual([200, undefined])
  const { asOf, nextCursor } = Page.parse({ data, meta }).meta
  return { rows: Page.parse({ data, meta }).data, asOf, nextCursor }
}

test.each(['desc', 'asc'])(
  'pages (%s) contain each row that survives exactly once while rows are added and reorgs remove blocks',
  async (order) => {
    const [START, ARRIVING] = [byForm(300, 4_000), 20]
    for (const chainId of [8453, 56] as const) {
      for (let from = 1; from < START; from += 100) await write(chainId, from, from + 99)
    }

    // Rows arrive before each page, and before each twelfth the last blocks are replaced by others, whose rows have the
    // same ids.
    let last = START
    // Twenty blocks below the first page's block.
    const ancestor = START / ROWS_A_BLOCK - 20
    let [pages, replaced] = [0, 0]
    const goOn = async (): Promise<void> => {
      pages += 1
      if (pages % 12 === 0) {
        await replace(8453, ancestor, last, pages)
        replaced += 1
      }
      for (const chainId of [8453, 56] as const) await write(chainId, last + 1, last + ARRIVING, pages)
      last += ARRIVING
    }

    const seen: string[] = []
    let atFirst: number | undefined
    for (let cursor: string | null | undefined; cursor !== null; ) {
      await goOn()
      const { rows, asOf, nextCursor } = await page(`order=${order}&limit=31`, cursor)
      seen.push(...rows.map(({ chainId, id }) => `${chainId}/${id}`))
      // Blocks removed since the first page.
      if (atFirst !== undefined && replaced > atFirst)
        expect(asOf[0]).toMatchObject({ chainId: 8453, reorgedSince: true })
      atFirst ??= replaced
      cursor = nextCursor
    }

    // What was there at the first page and lies below every rollback has to be there, on both chains.
    const kept = (chainId: number): number => (chainId === 56 ? START : ancestor * ROWS_A_BLOCK)
    const due = [8453, 56].flatMap((chainId) => ids(1, kept(chainId)).map((id) => `${chainId}/${id}`))
    const given = new Set(seen)
    expect(due.filter((row) => !given.has(row))).toEqual([])
    expect(seen.length).toBe(given.size)
    expect(replaced).toBeGreaterThan(0)
  },
)

test('a page does not shift when rows are added, and keeps the neighbour of a removed row', async () => {
  await write(8453, 1, 100)
  const query = 'chainId=8453&limit=10'
  const first = await page(query)
  expect(first.rows.map(({ id }) => id)).toEqual(ids(91, 100).reverse())
  await write(8453, 101, 200)
  const second = await page(query, first.nextCursor)
  expect(second.rows.map(({ id }) => id)).toEqual(ids(81, 90).reverse())
  expect(second.asOf).toEqual(first.asOf)
  // Position 81, the last returned one, was removed.
  await database.run((handle) => handle.execute('DELETE FROM positions WHERE id IN (81, 75)'))
  const third = await page(query, second.nextCursor)
  expect(third.rows.map(({ id }) => id)).toEqual([80, 79, 78, 77, 76, 74, 73, 72, 71, 70])
  // The first page is held by its URL until the API has heard of the new rows.
  await expect.poll(async () => (await page(query)).rows.map(({ id }) => id)).toEqual(ids(191, 200).reverse())
})

test('a page reports a rollback below the block of its first page, and no other rollback', async () => {
  await write(8453, 1, 90)
  await write(8453, 91, 100)
  const query = 'chainId=8453&limit=10'
  const begun = await page(query)
  const isReorged = async () => (await page(query, begun.nextCursor)).asOf.map(({ reorgedSince }) => reorgedSince)

  await write(8453, 101, 200)
  await replace(8453, 10, 200, 1)
  expect(await isReorged()).toEqual([false])
  await replace(8453, 9, 200, 2)
  expect(await isReorged()).toEqual([true])
  // A new first page is as of the new blocks.
  const again = await page(query)
  expect((await page(query, again.nextCursor)).asOf.map(({ reorgedSince }) => reorgedSince)).toEqual([false])
})

test('an invalid request is rejected with the names of its fields', async () => {
  for (const [name, query] of [
    ['limit', 'limit=201'],
    ['chainId', 'ids=1&chainId=8453,56'],
    ['wallet', `chainId=56&ids=1&wallet=${walletOf(1)}`],
    ['cursor', 'cursor=abc'],
  ]) {
    const { status, error } = await api.get(`/hedge/positions?${query}`)
    expect([status, error?.details?.map(({ path }) => path)]).toEqual([400, [name]])
  }
})

test('a list of final rows leaves out rows that are not final yet, and is a 503 when no node reports a final block', async () => {
  await write(8453, 1, 100)
  expect((await api.get('/hedge/positions?chainId=8453&finality=finalized')).status).toBe(503)
})

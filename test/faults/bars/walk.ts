import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { z } from 'zod'
import { createDatabase } from '../../../src/db/pool.ts'
import { rollBack } from '../../../src/db/write.ts'
import { blockOf, type Plan, putSeeded, seedEvent, seedPosition } from '../../support/seed-index.ts'
import { type Bar, type Failure, seconds } from '../bar.ts'
import { openIndex } from '../rig.ts'
import { startApi } from '../service.ts'

const ROWS = 50_000
const ROWS_A_BLOCK = 10
const CHAIN = 8453

/** Rows arrive in blocks of ten, so many blocks at once and so often: 200 rows a second. */
const BLOCKS_AT_ONCE = 5
const EVERY_MS = 250

/** When a reorg happens, in milliseconds from the first page on, and whether it takes back what the walks began with, or only what came since. */
const REORGS = [
  { at: 3_000, isDeep: false },
  { at: 6_000, isDeep: true },
  { at: 9_000, isDeep: false },
  { at: 12_000, isDeep: true },
  { at: 15_000, isDeep: false },
] as const

/** Blocks below the walks' first bound that a deep one takes back, and those that a shallow one does. */
const DEPTH = { deep: 60, shallow: 20 } as const

/** Rows that are there at once. The rest is seen as it arrives: what was seen above an ancestor would have to be seen anew, by a worker. */
const CHUNKS = [10_000, 10_000, 10_000, 10_000, 9_000] as const

/** A pause after each page: so the walk lasts through all reorgs. */
const PAGE_EVERY_MS = 20

const Page = z.object({
  data: z.array(z.object({ id: z.number(), createdTx: z.string() })),
  meta: z.object({
    nextCursor: z.string().nullable(),
    asOf: z.tuple([z.object({ blockNumber: z.number(), reorgedSince: z.boolean() })]),
  }),
})

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at)

/**
 * Walks through a list that does not stand still. The rows are written, and taken back, by the index's own writes; the service is a process.
 * Two walkers go on whatever they are told, one in each order: what lies below every reorg they must see once. A third begins again when it is
 * told to, and what it has at the end must be what the table had at its bound.
 */
export const walk: Bar = {
  claim: `walks over ${ROWS} rows while 200 rows a second arrive and ${REORGS.length} reorgs happen`,
  figure: 'none skipped, none twice; one that begins again when told is exact',
  async run({ store, chains, seeds: [seed = 1] }) {
    const index = await openIndex({ store, chains, seed })
    const log = pino({ level: 'silent' })
    const { url } = index.database
    const database = createDatabase({ url, log, maxConnections: 2, statementTimeoutMs: 30_000 })
    const plan: Plan = {
      token: chains.chain.tokens[0]?.address ?? '0x',
      ...{ rowsABlock: ROWS_A_BLOCK, wallets: 500, events: 100 },
    }
    const rowsOf = (from: number, to: number, fork: number) =>
      range(from, to).map((id) => seedPosition(id, { ...plan, fork }))
    let last = 0
    const arrive = async (rows: number, fork: number): Promise<void> => {
      const [from, to] = [last + 1, last + rows]
      await database.transaction(async (handle, copy) => {
        const events = from === 1 ? range(1, plan.events).map((id) => seedEvent(id, plan)) : []
        const tip = blockOf(BigInt(to / ROWS_A_BLOCK), fork)
        await putSeeded(handle, copy, CHAIN, tip, { events, positions: rowsOf(from, to, fork) })
      })
      last = to
    }
    const reorg = (ancestor: number, fork: number): Promise<void> =>
      database.transaction(async (handle, copy) => {
        await rollBack(handle, CHAIN, blockOf(BigInt(ancestor)))
        const tip = blockOf(BigInt(last / ROWS_A_BLOCK), fork)
        await putSeeded(handle, copy, CHAIN, tip, { positions: rowsOf(ancestor * ROWS_A_BLOCK + 1, last, fork) })
      })

    const list = `/v1/hedge/positions?chainId=${CHAIN}&limit=50`
    const failures: Failure[] = []
    const fail = (what: string): void => void failures.push({ seed, what })
    const walking = new AbortController()
    let arrived = 0
    let happened = 0
    try {
      for (const rows of CHUNKS) await arrive(rows, 0)
      while (last < ROWS) await arrive(BLOCKS_AT_ONCE * ROWS_A_BLOCK, 0)
      const api = await startApi(index, {}, { readyPath: list })

      const live = async (): Promise<void> => {
        const began = performance.now()
        for (let tick = 1; !walking.signal.aborted; tick += 1) {
          const due = REORGS[happened]
          if (due !== undefined && performance.now() - began > due.at) {
            happened += 1
            const tip = last / ROWS_A_BLOCK
            await reorg(due.isDeep ? ROWS / ROWS_A_BLOCK - DEPTH.deep : tip - DEPTH.shallow, happened)
          }
          await arrive(BLOCKS_AT_ONCE * ROWS_A_BLOCK, happened)
          arrived += BLOCKS_AT_ONCE * ROWS_A_BLOCK
          await sleep(Math.max(0, began + tick * EVERY_MS - performance.now()))
        }
      }

      const page = async (query: string) => {
        const { status, body } = await api.get(query)
        if (status !== 200) throw new Error(`${status}: ${body.slice(0, 200)}`)
        const { data, meta } = Page.parse(JSON.parse(body))
        await sleep(PAGE_EVERY_MS)
        return { rows: data, next: meta.nextCursor, ...meta.asOf[0] }
      }

      /** Goes on whatever it is told. */
      const heedless = async (order: 'asc' | 'desc') => {
        const seen: number[] = []
        let told = 0
        for (let cursor: string | null = ''; cursor !== null; ) {
          const { rows, next, reorgedSince } = await page(`${list}&order=${order}${cursor && `&cursor=${cursor}`}`)
          seen.push(...rows.map(({ id }) => id))
          if (reorgedSince) told += 1
          cursor = next
        }
        const given = new Set(seen)
        const skipped = range(1, ROWS - DEPTH.deep * ROWS_A_BLOCK).filter((id) => !given.has(id)).length
        const twice = seen.length - given.size
        if (skipped + twice > 0) fail(`${order}: ${skipped} skipped, ${twice} twice`)
        if (told === 0) fail(`${order}: never told that blocks left`)
        return { skipped, twice, pages: Math.ceil(seen.length / 50) }
      }

      /** Begins again when it is told to. */
      const heedful = async (): Promise<{ readonly begun: number; readonly rows: number; readonly wrong: number }> => {
        for (let begun = 1; ; begun += 1) {
          const seen: string[] = []
          let [bound, isOver] = [0, false]
          let query = list
          for (let cursor: string | null = ''; cursor !== null; ) {
            query = `${list}${cursor && `&cursor=${cursor}`}`
            const { rows, next, blockNumber, reorgedSince } = await page(query)
            bound = blockNumber
            seen.push(...rows.map(({ id, createdTx }) => `${id} ${createdTx}`))
            cursor = reorgedSince ? null : next
            isOver = next === null && !reorgedSince
          }
          if (!isOver) continue
          const truth = await database.rows({
            text: `SELECT concat(id, ' 0x', encode(tx_hash, 'hex')) FROM positions WHERE chain_id = $1 AND block_number <= $2 ORDER BY id DESC`,
            values: [CHAIN, bound],
          })
          // Blocks may have left between the last page and the look at the table.
          if ((await page(query)).reorgedSince) continue
          const wrong = truth.filter(([row], at) => row !== seen[at]).length + Math.abs(truth.length - seen.length)
          if (wrong > 0) fail(`${wrong} of ${truth.length} rows are not what the table has`)
          return { begun, rows: seen.length, wrong }
        }
      }

      const living = live()
      const began = performance.now()
      const walks = Promise.all([heedless('desc'), heedless('asc'), heedful()])
      const [down, up, again] = await walks.finally(() => walking.abort())
      const took = performance.now() - began
      await living
      if (happened < REORGS.length) fail(`the walks were over after ${happened} reorgs`)
      const rate = (arrived * 1_000) / took
      return {
        measured: `${down.pages} and ${up.pages} pages, ${down.skipped + up.skipped} skipped, ${down.twice + up.twice} twice; begun ${again.begun} times: ${again.wrong} of ${again.rows} rows wrong; ${happened} reorgs and ${rate.toFixed(0)} rows a second for ${seconds(took)}`,
        met: failures.length === 0,
        failures,
      }
    } finally {
      walking.abort()
      await database.close()
      await index.close()
    }
  },
}

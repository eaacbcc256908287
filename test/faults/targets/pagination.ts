import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { z } from 'zod'
import { rollBack } from '../../../src/db/index/write.ts'
import { createDatabase } from '../../../src/db/pool.ts'
import { blockOf, type Plan, putSeeded, seedEvent, seedPosition } from '../../support/seed-index.ts'
import { openIndex } from '../rig.ts'
import { startApi } from '../service.ts'
import { type Failure, seconds, type Target } from '../target.ts'

const ROWS = 50_000
const ROWS_A_BLOCK = 10
const CHAIN = 8453

/** Rows arrive in blocks of ten: the blocks per write and the interval between writes give 200 rows a second. */
const BLOCKS_AT_ONCE = 5
const EVERY_MS = 250

/**
 * When each reorg happens, in milliseconds since the first page, and whether it removes initial rows (`deep`) or only
 * later ones.
 */
const REORGS = [
  { at: 3_000, isDeep: false },
  { at: 6_000, isDeep: true },
  { at: 9_000, isDeep: false },
  { at: 12_000, isDeep: true },
  { at: 15_000, isDeep: false },
] as const

/** How many blocks below the first page's bound a deep and a shallow reorg roll back. */
const DEPTH = { deep: 60, shallow: 20 } as const

/**
 * The rows at the start, by chunk. The rest is observed as it arrives, because only a worker could repeat the
 * observations above a common ancestor.
 */
const CHUNKS = [10_000, 10_000, 10_000, 10_000, 9_000] as const

/** The pause after each page, so that the paginated reads last through all reorgs. */
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
 * Reads all pages of a list that changes. The index's own functions write and roll back the rows; the service is a
 * separate process. Two paginated reads ignore `reorgedSince`, one in each order, and must see every row below the
 * reorgs once. A third starts over when a page has `reorgedSince`, and its rows at the end must be those of the table
 * at its bound.
 */
export const pagination: Target = {
  claim: `walks over ${ROWS} rows while 200 rows a second arrive and ${REORGS.length} reorgs happen`,
  figure: 'no row skipped or repeated; a read that starts over after `reorgedSince` is exact',
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
    const reading = new AbortController()
    let arrived = 0
    let happened = 0
    try {
      for (const rows of CHUNKS) await arrive(rows, 0)
      while (last < ROWS) await arrive(BLOCKS_AT_ONCE * ROWS_A_BLOCK, 0)
      const api = await startApi(index, {}, { readyPath: list })

      const live = async (): Promise<void> => {
        const began = performance.now()
        for (let tick = 1; !reading.signal.aborted; tick += 1) {
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

      /** Continues after `reorgedSince`. */
      const readOnce = async (order: 'asc' | 'desc') => {
        const seen: number[] = []
        let reported = 0
        for (let cursor: string | null = ''; cursor !== null; ) {
          const { rows, next, reorgedSince } = await page(`${list}&order=${order}${cursor && `&cursor=${cursor}`}`)
          seen.push(...rows.map(({ id }) => id))
          if (reorgedSince) reported += 1
          cursor = next
        }
        const given = new Set(seen)
        const skipped = range(1, ROWS - DEPTH.deep * ROWS_A_BLOCK).filter((id) => !given.has(id)).length
        const twice = seen.length - given.size
        if (skipped + twice > 0) fail(`${order}: ${skipped} skipped, ${twice} twice`)
        if (reported === 0) fail(`${order}: no page reported a reorg`)
        return { skipped, twice, pages: Math.ceil(seen.length / 50) }
      }

      /** Starts over after `reorgedSince`. */
      const readWithRestarts = async (): Promise<{
        readonly begun: number
        readonly rows: number
        readonly wrong: number
      }> => {
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
          const stored = await database.rows({
            text: `SELECT concat(id, ' 0x', encode(tx_hash, 'hex')) FROM positions WHERE chain_id = $1 AND block_number <= $2 ORDER BY id DESC`,
            values: [CHAIN, bound],
          })
          // A reorg may have happened between the last page and the query of the table.
          if ((await page(query)).reorgedSince) continue
          const wrong = stored.filter(([row], at) => row !== seen[at]).length + Math.abs(stored.length - seen.length)
          if (wrong > 0) fail(`${wrong} of ${stored.length} rows are not what the table has`)
          return { begun, rows: seen.length, wrong }
        }
      }

      const living = live()
      const began = performance.now()
      const reads = Promise.all([readOnce('desc'), readOnce('asc'), readWithRestarts()])
      const [down, up, again] = await reads.finally(() => reading.abort())
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
      reading.abort()
      await database.close()
      await index.close()
    }
  },
}

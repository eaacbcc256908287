import { deepStrictEqual } from 'node:assert'
import { Client } from 'pg'
import { pino } from 'pino'
import { migrate } from '../../src/db/migrate.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import { createListings } from '../../src/db/queries/listings.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import { position } from '../../src/protocol/records.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import {
  blockOf,
  type Plan,
  seedDeployment,
  seedDeposit,
  seedEvent,
  seedPosition,
  writeSeeded,
} from '../support/seed-index.ts'
import { multiply } from './multiply.ts'

/** Positions, of one chain. */
export const ROWS = Number(process.env.ROWS ?? 1_000_000)
export const chainId: ChainId = 8453

/**
 * Positions that the functions of the index write. The rest are copies with their own ids, wallets, events and blocks.
 */
const SAMPLE = 10_000
const CHUNK = 2_500

/**
 * About 62 positions per wallet and 400 per event. Copies belong to events with the same settlement: every eighth event
 * has it.
 */
export const planOf = (rows: number): Plan => {
  const wallets = Math.ceil(rows / 62)
  return {
    ...{ token: seedDeployment(chainId).usdc, rowsABlock: 100, events: 8 * Math.ceil(rows / 3_200) },
    // `seedPosition` uses every thirteenth wallet, which reaches all of them unless their number is a multiple of 13.
    wallets: wallets % 13 === 0 ? wallets + 1 : wallets,
  }
}

/** A number of consecutive numbers from the first one on. */
export const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, at) => first + at)

/** Numbers from 1 to `last`, in parts. */
const parts = (last: number): number[][] =>
  from(0, Math.ceil(last / CHUNK)).map((nth) => from(nth * CHUNK + 1, Math.min(CHUNK, last - nth * CHUNK)))

/** Throws unless copies are read as the positions that `seedPosition` makes, except for the amount. */
const checkCopies = async (database: Database, chain: ChainId, rows: number): Promise<void> => {
  const ids = [1, Math.min(SAMPLE, rows), Math.max(1, rows - 777), rows]
  const query = { chainId: chain, after: null, upTo: null, now: null, rollback: null }
  const asked = { kind: 'position', include: [], query, ids: ids.map(BigInt) } as const
  const found = (await createListings(database).byIds(asked)).rows.map(({ views, ...row }) => {
    const { notional, ...record } = position(views as Parameters<typeof position>[0])
    return { ...record, block: row.blockNumber, tx: row.txHash, token: row.token }
  })
  const seeded = ids.map((id) => {
    const { fact, seen } = seedPosition(id, planOf(rows))
    const { notional, ...record } = position(seen)
    return { ...record, block: String(fact.blockNumber), tx: fact.txHash, token: seedDeployment(chain).usdc }
  })
  deepStrictEqual(found, seeded)
}

/** Fills a migrated database with positions of a chain, and vacuums it as autovacuum would have done by then. */
export const fill = async (url: string, chain: ChainId, rows: number): Promise<void> => {
  const log = pino({ level: 'silent' })
  const plan = planOf(rows)
  const tip = blockOf(BigInt(Math.ceil(rows / plan.rowsABlock)))
  const database = createDatabase({ url, log, maxConnections: 2, statementTimeoutMs: 600_000 })
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const ids of parts(plan.events))
      await writeSeeded(database, chain, tip, { events: ids.map((id) => seedEvent(id, plan)) })
    for (const ids of parts(2 * plan.events))
      await writeSeeded(database, chain, tip, { deposits: ids.map((id) => seedDeposit(id, plan)) })
    for (const ids of parts(Math.min(rows, SAMPLE)))
      await writeSeeded(database, chain, tip, { positions: ids.map((id) => seedPosition(id, plan)) })
    await multiply(client, { chainId: chain, plan, sample: SAMPLE, rows })
    await client.query('VACUUM ANALYZE')
    await checkCopies(database, chain, rows)
  } finally {
    await client.end()
    await database.close()
  }
}

const observations = ['event_observations', 'deposit_observations', 'position_observations']

/** The bytes that a fact of a position and each observation take, without and in indexes. */
const bytesPerRow = async (url: string): Promise<string> => {
  const client = new Client(url)
  await client.connect()
  const { rows } = await client.query<{ name: string; heap: number; indexes: number }>(
    `SELECT relname AS name, pg_table_size(oid) / reltuples AS heap, pg_indexes_size(oid) / reltuples AS indexes
      FROM unnest($1::text[]) AS table_name JOIN pg_class ON oid = table_name::regclass`,
    [['positions', ...observations]],
  )
  await client.end()
  return rows.map(({ name, heap, indexes }) => `${name} ${heap.toFixed(0)} + ${indexes.toFixed(0)}`).join(', ')
}

/**
 * Starts a server with one migrated database per size, filled with that many positions of Base. Their URLs are in that
 * order.
 */
export const startFilled = async (sizes: readonly number[]) => {
  const postgres = await startPostgres()
  const urls: string[] = []
  for (const rows of sizes) {
    const start = performance.now()
    const client = new Client(postgres.url)
    await client.connect()
    await client.query(`CREATE DATABASE positions_${rows}`)
    await client.end()
    const url = new URL(postgres.url)
    url.pathname = `positions_${rows}`
    urls.push(url.href)
    await migrate({ databaseUrl: url.href, log: pino({ level: 'silent' }) })
    await fill(url.href, chainId, rows)
    const took = ((performance.now() - start) / 1000).toFixed(0)
    console.log(`${rows} positions of ${planOf(rows).wallets} wallets written in ${took} s`)
    console.log(`  bytes a row, in the table + in its indexes: ${await bytesPerRow(url.href)}`)
  }
  return { urls, pid: postgres.pid, close: postgres.close }
}

/** One database with `ROWS` positions. */
export const startMillion = async () => {
  const { urls, close } = await startFilled([ROWS])
  return { url: urls[0] ?? '', close }
}

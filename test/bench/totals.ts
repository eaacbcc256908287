import { readFileSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { sumSomeRows } from '../../src/db/index/totals.ts'
import { createDatabase } from '../../src/db/pool.ts'
import { createTotals } from '../../src/db/queries/totals.ts'
import { openStore } from '../faults/rig.ts'

/*
 * Measures how long the totals of the protocol by day take over a year with a number of purchases in three tokens, and how
 * many rows of the ledger are summed in a second.
 *
 *   npm run bench:totals                   1,000,000 purchases
 *   ROWS=10000000 npm run bench:totals     10,000,000: up to 12 GB of disk
 *   LIVE=1142 npm run bench:totals         1,000,000, of which as many are not summed yet as an hour of 10,000,000 has
 */

const ROWS = Number(process.env.ROWS ?? 1_000_000)
const READS = 100
/** Rows that are not summed yet: those of an hour, unless given. */
const LIVE = Number(process.env.LIVE ?? Math.ceil(ROWS / 8_760))
const chainId = 8453
/** The largest allowed median, in milliseconds. */
const MOST = 50

const YEAR = 365 * 86_400
const start = Math.floor(Date.now() / 1_000) - YEAR

const bytes = (length: number) => sql.raw(`decode(lpad(to_hex(n), ${2 * length}, '0'), 'hex')`)
const time = sql`${start} + (n * ${YEAR}::bigint / ${ROWS})`

const store = await openStore()
const url = new URL(store.server)
url.pathname = store.template
const log = pino({ level: 'silent' })
const database = createDatabase({ url: url.href, maxConnections: 1, statementTimeoutMs: 3_600_000, log })

/** The processor time of the server's process so far, in milliseconds. Linux only. */
const backendMs = async (): Promise<number> => {
  const { rows } = await database.run((handle) => handle.execute<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`))
  const stat = readFileSync(`/proc/${rows[0]?.pid}/schedstat`, 'latin1')
  return Number(stat.split(' ')[0]) / 1e6
}

try {
  await database.run((handle) =>
    handle.execute(sql`INSERT INTO events (chain_id, id, creator, underlying, strike, premium_rate, expiry_date, payment_token,
        block_number, block_hash, block_timestamp, tx_hash, log_index)
      SELECT ${chainId}, n, ${bytes(20)}, 'USD/GHS'::bytea, 1, 1, 1, decode(lpad(to_hex(n % 3), 40, '0'), 'hex'), 0, ${bytes(32)}, ${start}, ${bytes(32)}, 0
      FROM generate_series(1, ${Math.ceil(ROWS / 100)}::bigint) AS n`),
  )
  const batch = 500_000
  for (let from = 1; from <= ROWS; from += batch) {
    const many = sql`generate_series(${from}::bigint, ${Math.min(ROWS, from + batch - 1)}::bigint) AS n`
    const event = sql`1 + n / 100`
    await database.run((handle) =>
      handle.execute(sql`INSERT INTO positions (chain_id, id, event_id, hedger, notional, premium_paid, platform_fee,
          block_number, block_hash, block_timestamp, tx_hash, log_index)
        SELECT ${chainId}, n, ${event}, ${bytes(20)}, n, 100, 1, n, ${bytes(32)}, ${time}, ${bytes(32)}, 0 FROM ${many}`),
    )
    await database.run((handle) =>
      handle.execute(sql`INSERT INTO ledger (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data,
          type, event_id, position_id, wallet, amount, fee)
        SELECT ${chainId}, n, ${bytes(32)}, ${time}, 0, ${bytes(32)}, ${bytes(128)}, ${bytes(128)}, 5, least(${event}, ${Math.ceil(ROWS / 100)}), n, ${bytes(20)}, 100, 1
        FROM ${many}`),
    )
    console.log(`${Math.min(ROWS, from + batch - 1)} of ${ROWS} rows written`)
  }
  const tip = { number: BigInt(ROWS), hash: `0x${'0'.repeat(64)}`, timestamp: BigInt(start + YEAR) } as const
  await database.run((handle) =>
    handle.execute(sql`INSERT INTO cursors (chain_id, block_number, block_hash, block_timestamp, ledger_number)
      VALUES (${chainId}, ${ROWS}, decode(repeat('00', 32), 'hex'), ${start + YEAR}, ${ROWS})`),
  )
  await database.run((handle) => handle.execute(sql`ANALYZE`))
  const begun = performance.now()
  while (await sumSomeRows(database, chainId, { afterSeconds: (YEAR * LIVE) / ROWS }));
  const seconds = (performance.now() - begun) / 1_000
  console.log(`${Math.round(ROWS / seconds)} rows summed in a second`)

  const { daysUpTo } = createTotals(database)
  const times: number[] = []
  const [cpu, backend] = [process.cpuUsage(), await backendMs()]
  for (let read = 0; read < READS; read += 1) {
    const at = performance.now()
    const days = await daysUpTo(chainId, tip)
    times.push(performance.now() - at)
    const rows = days?.reduce((sum, day) => sum + day.rows, 0n)
    if (rows !== BigInt(ROWS)) throw new Error(`the totals are of ${rows} rows`)
  }
  const { user, system } = process.cpuUsage(cpu)
  const own = (user + system) / 1_000 / READS
  const ofServer = ((await backendMs()) - backend) / READS
  console.log(`processor time of a read: ${own.toFixed(1)} ms, and ${ofServer.toFixed(1)} ms of PostgreSQL`)
  times.sort((a, b) => a - b)
  const [p50 = Number.NaN, p99 = Number.NaN] = [times[READS / 2], times[Math.floor(READS * 0.99)]]
  console.log(
    `totals by day over ${ROWS} purchases: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (target: p50 at most ${MOST} ms, ${p50 <= MOST ? 'met' : 'MISSED'})`,
  )
} finally {
  await database.close()
  await store.close()
}

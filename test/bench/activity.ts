import { Client } from 'pg'
import { pino } from 'pino'
import { toEventSelector } from 'viem'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { migrate } from '../../src/db/migrate.ts'
import { ledgerTypes } from '../../src/protocol/ledger.ts'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { quantile } from '../faults/target.ts'
import { openApp } from '../support/app.ts'
import { seedDeployment, seedToken } from '../support/seed-index.ts'

/*
 * Measures how long a page of 50 rows of a wallet's activity takes as the ledger grows. Databases of both sizes on one
 * server are read in turn, one request at a time. A wallet has about 62 rows, which are scattered over the table. Indexes
 * that such a page does not use are left out, so that the rows are written sooner.
 *
 *   npm run bench:activity                      100,000 and 10,000,000 rows: up to 8 GB of disk
 *   SIZES=1000,100000 npm run bench:activity    these sizes
 */

const SIZES = (process.env.SIZES ?? '100000,10000000').split(',').map(Number)
const ROUNDS = Number(process.env.ROUNDS ?? 20)
const REQUESTS = 100
const WARM_UP = 10
/** The largest allowed ratio of a median to that of the smallest ledger. */
const MOST = 1.5
const ROWS_A_WALLET = 62
const ROWS_AN_EVENT = 400
const ROWS_A_BLOCK = 100
const chainId = 8453

const [created] = protocolAbi.filter((item) => item.type === 'event' && item.name === 'PositionCreated')
if (created?.type !== 'event') throw new Error('the protocol has no log PositionCreated')

/** 32 bytes, or fewer, of a number in SQL. */
const word = (number: string, bytes = 32): string => `decode(lpad(to_hex(${number}), ${2 * bytes}, '0'), 'hex')`

/** Wallets: not a multiple of 13, so that every thirteenth wallet in turn reaches all of them. */
const walletsOf = (rows: number): number => {
  const wallets = Math.ceil(rows / ROWS_A_WALLET)
  return wallets % 13 === 0 ? wallets + 1 : wallets
}
const addressOf = (wallet: number): string => `0x${wallet.toString(16).padStart(40, '0')}`

/** Fills a migrated database with rows of the ledger, all of purchases. */
const fill = async (client: Client, rows: number): Promise<void> => {
  const [wallets, events, head] = [walletsOf(rows), Math.ceil(rows / ROWS_AN_EVENT), Math.ceil(rows / ROWS_A_BLOCK)]
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
      WHERE indrelid = 'ledger'::regclass AND NOT indisprimary`,
  )
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  await client.query(`SET maintenance_work_mem = '512MB'`)
  const token = `'\\x${seedToken.slice(2)}'::bytea`
  await client.query(
    `INSERT INTO tokens (chain_id, address, symbol, decimals) VALUES (${chainId}, ${token}, 'USDC', 6)`,
  )
  await client.query(
    `INSERT INTO events (chain_id, id, creator, underlying, strike, premium_rate, expiry_date, payment_token, block_number, block_hash,
        block_timestamp, tx_hash, log_index)
      SELECT ${chainId}, n, ${word('n', 20)}, 'USD/GHS'::bytea, 1, 1, 1, ${token}, 1, ${word('1')}, 1800000002, ${word('n')}, n
      FROM generate_series(1, ${events}::bigint) AS n`,
  )
  await client.query(
    `INSERT INTO ledger (chain_id, block_number, block_hash, block_timestamp, log_index, tx_hash, topics, data, type, event_id,
        position_id, wallet, amount, fee)
      SELECT ${chainId}, block, ${word('block')}, 1800000000 + 2 * block, n % ${ROWS_A_BLOCK}, ${word('n')},
        '\\x${toEventSelector(created).slice(2)}'::bytea || ${word('event')} || ${word('n')} || ${word('wallet')},
        ${word('n')} || ${word('n * 27')} || ${word('n * 13')} || ${word('n * 40')},
        ${ledgerTypes['position.created'].code}, event, n, ${word('wallet', 20)}, n * 27, n * 13
      FROM (SELECT n, n / ${ROWS_A_BLOCK} AS block, 1 + n % ${events} AS event, (n * 13) % ${wallets} AS wallet
        FROM generate_series(1, ${rows}::bigint) AS n) AS numbers`,
  )
  for (const { name, definition } of indexes) if (name === 'ledger_by_wallet') await client.query(definition)
  await client.query(
    `INSERT INTO cursors (chain_id, block_number, block_hash, block_timestamp, ledger_number)
      VALUES (${chainId}, ${head}, ${word(`${head}`)}, 1800000000 + 2 * ${head}, ${head})`,
  )
  await client.query('VACUUM ANALYZE')
}

const postgres = await startPostgres()
const connected = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client(url)
  await client.connect()
  return work(client).finally(() => client.end())
}

const open = async (rows: number) => {
  const url = new URL(postgres.url)
  url.pathname = `activity_${rows}`
  await connected(postgres.url, (client) => client.query(`CREATE DATABASE activity_${rows}`))
  await migrate({ databaseUrl: url.href, log: pino({ level: 'silent' }) })
  const started = performance.now()
  await connected(url.href, (client) => fill(client, rows))
  const seconds = ((performance.now() - started) / 1_000).toFixed(0)
  console.log(`${rows} rows of ${walletsOf(rows)} wallets written in ${seconds} s`)
  const ours = await openApp({ databaseUrl: url.href, nodes: [{ deployment: seedDeployment(chainId) }] })
  const at = await ours.app.listen({ port: 0, host: '127.0.0.1' })
  return { rows, ours, url: at, any: [] as number[], one: [] as number[] }
}

/** Milliseconds of a page. Throws unless it has 50 rows and comes from the database. */
const ask = async (url: string, wallet: number): Promise<number> => {
  const start = performance.now()
  const answer = await fetch(`${url}/v1/activity?chainId=${chainId}&wallet=${addressOf(wallet)}`)
  const { data } = (await answer.json()) as { data: readonly unknown[] }
  const took = performance.now() - start
  if (answer.status !== 200 || data.length !== 50) throw new Error(`status ${answer.status}, ${data.length} rows`)
  if (answer.headers.has('etag')) throw new Error('the page has a tag, so it may come from the cache')
  return took
}

const contestants: Awaited<ReturnType<typeof open>>[] = []
try {
  for (const rows of SIZES) contestants.push(await open(rows))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { rows, url, any, one } of contestants) {
      for (let nth = 0; nth < REQUESTS + WARM_UP; nth += 1) {
        const took = await ask(url, Math.floor(Math.random() * (walletsOf(rows) - 1)))
        if (nth >= WARM_UP) any.push(took)
      }
      for (let nth = 0; nth < REQUESTS; nth += 1) one.push(await ask(url, 77))
    }
  const medians = contestants.map(({ any, one }) => ({ any: quantile(any, 0.5), one: quantile(one, 0.5) }))
  console.log(`a wallet's page of 50 rows of activity, ${ROUNDS} rounds of ${REQUESTS} requests`)
  for (const [at, { rows, any, one }] of contestants.entries())
    for (const [name, times, of] of [
      ['any wallet', any, 'any'],
      ['always the same', one, 'one'],
    ] as const) {
      const ratio = (medians[at]?.[of] ?? Number.NaN) / (medians[0]?.[of] ?? Number.NaN)
      const verdict = `target: at most ${MOST}, ${ratio <= MOST ? 'met' : 'MISSED'}`
      console.log(
        `  ${String(rows).padStart(8)} rows, ${name}: p50 ${quantile(times, 0.5).toFixed(2)} ms, p99 ${quantile(times, 0.99).toFixed(2)} ms, ratio of the medians ${ratio.toFixed(2)} (${verdict})`,
      )
    }
} finally {
  for (const { ours } of contestants) await ours.close()
  await postgres.close()
}

import { cpus } from 'node:os'
import { Client, Pool } from 'pg'
import { walletOf } from '../support/seed-index.ts'
import { chainId, startMillion } from './million.ts'

/*
 * Reads a wallet's fifty positions by one named statement, with 64 concurrent reads over four connections. Compares one
 * statement per connection at a time, as in a pool, with pipelining. Both run in turn; the figures are medians of the
 * rounds.
 *
 *   ROWS=100000 npm run bench:pipelining
 */

const CONNECTIONS = 4
const AT_ONCE = 64
const ROUNDS = 5
const ROUND_MS = 3_000

const postgres = await startMillion()
const connection = { connectionString: postgres.url }
const pool = new Pool({ ...connection, max: CONNECTIONS })
const clients = Array.from({ length: CONNECTIONS }, () => new Client({ ...connection, pipeline: true }))
await Promise.all(clients.map((client) => client.connect()))

const statement = (nth: number) => ({
  name: 'page',
  text: 'SELECT * FROM positions WHERE chain_id = $1 AND hedger = $2 ORDER BY id DESC LIMIT $3',
  values: [chainId, Buffer.from(walletOf(nth % 500).slice(2), 'hex'), 50],
})

type Ask = (nth: number) => Promise<{ readonly rows: readonly unknown[] }>
const contestants: Readonly<Record<string, Ask>> = {
  'one at a time': (nth) => pool.query(statement(nth)),
  pipelined: (nth) => {
    const client = clients[nth % CONNECTIONS]
    if (client === undefined) throw new RangeError('there are as many clients as connections')
    return client.query(statement(nth))
  },
}

/** Statements per second, and their median time in milliseconds. */
const measure = async (ask: Ask): Promise<readonly [number, number]> => {
  const until = performance.now() + ROUND_MS
  const took: number[] = []
  let nth = 0
  const asker = async (): Promise<void> => {
    while (performance.now() < until) {
      const start = performance.now()
      nth += 1
      const { rows } = await ask(nth)
      if (rows.length === 0) throw new Error('a wallet without positions')
      took.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, asker))
  return [(took.length * 1_000) / ROUND_MS, median(took)]
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

try {
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, medians of ${ROUNDS} rounds`)
  const seen = new Map(Object.keys(contestants).map((name) => [name, [] as (readonly [number, number])[]]))
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, ask] of Object.entries(contestants)) {
      const figures = await measure(ask)
      // The first round warms up.
      if (round > 0) seen.get(name)?.push(figures)
    }
  }
  for (const [name, figures] of seen) {
    const [rate, took] = [0, 1].map((at) => median(figures.map((figure) => figure[at] ?? Number.NaN)))
    console.log(`  ${name.padEnd(16)} ${rate?.toFixed(0)} statements a second, p50 ${took?.toFixed(1)} ms`)
  }
} finally {
  await Promise.all([pool.end(), ...clients.map((client) => client.end())])
  await postgres.close()
}

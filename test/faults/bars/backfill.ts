import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { ENTITIES, openArchive } from '../archive.ts'
import { type Bar, seconds } from '../bar.ts'
import { isExact, say } from '../oracle.ts'
import { openIndex } from '../rig.ts'
import { variants } from '../variant.ts'

/** What the bench prints under a name; NaN when it does not. */
const figureOf = (name: string, output: string): number =>
  Number(new RegExp(`${name} +(?:[\\d.]+ s, ratio )?([\\d.]+)`).exec(output)?.[1] ?? Number.NaN)

const bench = async (env: Readonly<Record<string, string>>): Promise<(name: string) => number> => {
  const run = promisify(execFile)
  const { stdout } = await run('npx', ['tsx', 'test/bench/backfill.ts'], { env: { ...process.env, ...env } })
  return (name) => figureOf(name, stdout)
}

const LOGS_A_SECOND = 50_000
const MOST_MB = 300
const FLOORS = 1.25

/** Bar 5, by the bench that the index is tuned on. */
export const backfill: Bar = {
  claim: 'backfill of a million logs from a local node, and of a long chain with few behind 20 ms of latency',
  figure: '50,000 logs a second, 300 MB, at most 1.25 times requests x latency',
  async run() {
    const many = await bench({})
    const far = await bench({ LOGS: '500', LOGS_A_BLOCK: '2', GAP: '9', LATENCY_MS: '20', WIDTH: '25' })
    const rate = many('logs a second')
    const memory = many('peak memory')
    const ratio = far('requests x latency')
    return {
      measured: `${rate} logs a second, ${memory} MB, ${ratio} times requests x latency`,
      met: rate >= LOGS_A_SECOND && memory <= MOST_MB && ratio <= FLOORS,
      failures: [],
    }
  },
}

const WITHIN_MS = 60_000

/** Bar 5 without logs. */
export const byIds: Bar = {
  claim: `${ENTITIES} entities rebuilt from nodes without eth_getLogs`,
  figure: '60 s',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { anvil, upgrade: _, ...archive } = await openArchive()
    try {
      const chain = { ...chains.chain, ...archive }
      const index = await openIndex({ store, chains: { ...chains, chain, variant: variants['no-logs'] }, seed })
      const client = new Client(index.database.url)
      try {
        await client.connect()
        const worker = await index.start('worker')
        await worker.waitForLine(/worker started/, WITHIN_MS)
        const started = performance.now()
        const count = async (): Promise<number> =>
          (await client.query('SELECT count(*)::int AS it FROM positions WHERE chain_id = 8453')).rows[0].it
        while ((await count()) < ENTITIES && performance.now() < started + 3 * WITHIN_MS) await sleep(200)
        const took = performance.now() - started
        // The cursor goes to the block once all of it was read.
        await sleep(2_000)
        const verdict = await index.oracle.look()
        const failures = isExact(verdict) ? [] : [{ seed, what: `${say(verdict)}\n${worker.tail()}` }]
        return {
          measured: `${failures.length === 0 ? 'exact' : 'not exact'} after ${seconds(took)}`,
          met: failures.length === 0 && took <= WITHIN_MS,
          failures,
        }
      } finally {
        await client.end()
        await index.close()
      }
    } finally {
      await anvil.close()
    }
  },
}

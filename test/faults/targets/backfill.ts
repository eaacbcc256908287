import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { ENTITIES, openArchive } from '../archive.ts'
import { openIndex } from '../rig.ts'
import { seconds, type Target } from '../target.ts'
import { variants } from '../variant.ts'
import { describe, isExact } from '../verifier.ts'

/** The number in the pattern's group; NaN if the benchmark does not print it. */
const numberAt = (output: string, pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? Number.NaN)

const bench = async (env: Readonly<Record<string, string>>): Promise<string> => {
  const run = promisify(execFile)
  return (await run('npx', ['tsx', 'test/bench/backfill.ts'], { env: { ...process.env, ...env } })).stdout
}

const OF_RAW = 0.65
const TIMES_RAW = 2
const MOST_MB = 300
const FLOORS = 1.25

/** Target 5, measured by the benchmark that the index is tuned with. */
export const backfill: Target = {
  claim: 'backfill of a million logs from a local node, and of a long chain with few behind 20 ms of latency',
  figure: `${OF_RAW} of a raw loop, at most ${TIMES_RAW} times its processor time, ${MOST_MB} MB, at most ${FLOORS} times requests x latency`,
  async run() {
    // The figures of the index are printed first.
    const many = await bench({})
    const far = await bench({ LOGS: '500', LOGS_A_BLOCK: '2', GAP: '9', LATENCY_MS: '20', WIDTH: '25' })
    const ratio = numberAt(many, /ratio to the raw loop +([\d.]+)/)
    const [own = Number.NaN, raw = Number.NaN] = [...many.matchAll(/processor time a log +([\d.]+)/g)].map(([, us]) =>
      Number(us),
    )
    const spent = own / raw
    const memory = numberAt(many, /peak memory +([\d.]+)/)
    const floors = numberAt(far, /requests x latency +[\d.]+ s, ratio ([\d.]+)/)
    return {
      measured: `${ratio} of the raw loop, ${spent.toFixed(2)} times its processor time, ${memory} MB, ${floors} times requests x latency`,
      met: ratio >= OF_RAW && spent <= TIMES_RAW && memory <= MOST_MB && floors <= FLOORS,
      failures: [],
    }
  },
}

const WITHIN_MS = 60_000

/** Target 5 without logs. */
export const byIds: Target = {
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
        // The cursor moves to the block once all of it has been read.
        await sleep(2_000)
        const verdict = await index.verifier.compare()
        const failures = isExact(verdict) ? [] : [{ seed, what: `${describe(verdict)}\n${worker.tail()}` }]
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

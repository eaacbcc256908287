import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { openIndex } from '../rig.ts'
import { quantile, seconds, type Target } from '../target.ts'

const AFFECTED = 1_000
const PER_BLOCK = 100
const WITHIN_MS = 3_000
const PATIENCE_MS = 60_000
const REORGS = 5

/** Target 2, the observations: reorgs after which a thousand entities must be read again. */
export const refresh: Target = {
  claim: `reorgs that touch ${AFFECTED} entities: when is each observed again?`,
  figure: 'all observed 3 s after the new fork is there',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { traffic } = chains
    traffic.reseed(seed)
    const index = await openIndex({ store, chains, seed })
    const client = new Client(index.database.url)
    try {
      await client.connect()
      // Without a proxy, because its cost would dominate the measurement.
      await index.start('worker', 'worker', { RPC_URLS_8453: chains.chain.rpcUrl })
      /** Waits until the index has a block and its refresh queue is empty; returns the milliseconds it took. */
      const observed = async (block: number): Promise<number> => {
        const started = performance.now()
        for (;;) {
          const text = `SELECT (SELECT block_number FROM cursors WHERE chain_id = 8453) >= $1
            AND NOT EXISTS (SELECT FROM refresh_queue WHERE chain_id = 8453) AS done`
          const { rows } = await client.query(text, [block])
          const took = performance.now() - started
          if (rows[0].done === true) return took
          if (took > PATIENCE_MS) throw new Error(`not observed at block ${block} within ${PATIENCE_MS} ms`)
          await sleep(20)
        }
      }
      const fill = async (): Promise<number> => {
        let head = 0
        for (let made = 0; made < AFFECTED; made += PER_BLOCK) head = await traffic.mine(PER_BLOCK)
        return head
      }
      const took: number[] = []
      for (let at = 0; at < REORGS; at += 1) {
        await observed(await traffic.mine(2))
        const replace = await traffic.fork()
        await observed(await fill())
        took.push(await observed(await replace(fill)))
      }
      return {
        measured: `observed after ${seconds(quantile(took, 0.5))} (p50), ${seconds(Math.max(...took))} (worst) of ${REORGS}`,
        met: Math.max(...took) <= WITHIN_MS,
        failures: [],
      }
    } finally {
      await client.end()
      await index.close()
    }
  },
}

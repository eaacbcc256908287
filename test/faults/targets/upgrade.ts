import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { ENTITIES, openArchive } from '../archive.ts'
import { openIndex } from '../rig.ts'
import { seconds, type Target } from '../target.ts'

const WITHIN_MS = 30_000

/** How long the positions may take to be indexed and observed for the first time, in milliseconds. */
const PATIENCE_MS = 240_000

/** An upgrade that changes what the view returns for every position. */
export const upgrade: Target = {
  claim: `${ENTITIES} positions after an upgrade that changes what their view returns`,
  figure: 'all observed again in 30 s',
  async run({ store, chains, seeds: [seed = 1] }) {
    const { anvil, upgrade, ...archive } = await openArchive()
    try {
      const index = await openIndex({ store, chains: { ...chains, chain: { ...chains.chain, ...archive } }, seed })
      const client = new Client(index.database.url)
      try {
        await client.connect()
        // Without a proxy, because its cost would dominate the measurement.
        const worker = await index.start('worker', 'worker', { RPC_URLS_8453: archive.rpcUrl })
        /**
         * Waits until that many positions are observed as before or after the upgrade; returns the milliseconds it
         * took.
         */
        const observed = async (claimed: boolean, withinMs: number): Promise<number> => {
          const started = performance.now()
          for (;;) {
            const text = 'SELECT count(*)::int AS it FROM position_observations WHERE chain_id = 8453 AND claimed = $1'
            const { rows } = await client.query(text, [claimed])
            const took = performance.now() - started
            if (rows[0].it === ENTITIES) return took
            if (took > withinMs) throw new Error(`${rows[0].it} of ${ENTITIES} observed\n${worker.tail()}`)
            await sleep(200)
          }
        }
        const first = await observed(false, PATIENCE_MS)
        await upgrade()
        const took = await observed(true, PATIENCE_MS)
        return {
          measured: `observed at first after ${seconds(first)}, again after ${seconds(took)}`,
          met: took <= WITHIN_MS,
          failures: [],
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

import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Process } from './process.ts'
import type { Traffic } from './traffic.ts'

/**
 * Makes the indexed settlements final, and kills a worker in the middle of the transaction that stores that. Throws when
 * none stores it in time.
 */
export const killWhileItFinalizes = async (options: {
  readonly client: Client
  readonly worker: Process
  readonly traffic: Traffic
  readonly withinMs: number
}): Promise<void> => {
  const { client, worker, traffic, withinMs } = options
  await client.query('BEGIN')
  try {
    // Readers continue; a writer of settlements waits.
    await client.query('LOCK TABLE settlements IN SHARE MODE')
    await traffic.makeFinal()
    const deadline = Date.now() + withinMs
    for (let waiting = 0; waiting === 0; await sleep(50)) {
      if (Date.now() > deadline) throw new Error('no worker stored that settlements are final')
      const { rowCount } = await client.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
           AND query ILIKE 'UPDATE "settlements" SET finalized_seq%'`,
      )
      waiting = rowCount ?? 0
    }
    await worker.kill()
  } finally {
    await client.query('ROLLBACK')
  }
}

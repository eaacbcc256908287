import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Process } from './process.ts'
import type { Traffic } from './traffic.ts'

/**
 * Makes indexed settlements final, and kills a worker in the middle of the transaction that stores that. Throws when none
 * is indexed or stored in time.
 */
export const killWhileItFinalizes = async (options: {
  readonly client: Client
  readonly worker: Process
  readonly traffic: Traffic
  /** The block of the last settlement. A reorg can give its event the id of an earlier one. */
  readonly settledAt: number
  readonly withinMs: number
}): Promise<void> => {
  const { client, worker, traffic, settledAt, withinMs } = options
  /** Resolves when a query has a row. */
  const untilRow = async (what: string, text: string): Promise<void> => {
    for (const deadline = Date.now() + withinMs; (await client.query(text)).rowCount === 0; await sleep(50)) {
      if (Date.now() > deadline) throw new Error(`no worker ${what}`)
      // A transaction reads the activity of the server once otherwise.
      await client.query('SELECT pg_stat_clear_snapshot()')
    }
  }
  await untilRow(
    'indexed the settlement',
    `SELECT FROM settlements WHERE type = 'settled' AND block_number >= ${settledAt}`,
  )
  await client.query('BEGIN')
  try {
    // Readers continue; a writer of settlements waits.
    await client.query('LOCK TABLE settlements IN SHARE MODE')
    await traffic.makeFinal()
    await untilRow(
      'stored that settlements are final',
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND query ILIKE 'UPDATE "settlements" SET finalized_seq%'`,
    )
    await worker.kill()
  } finally {
    await client.query('ROLLBACK')
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'

/** Resolves when a query has a row. Throws `no row: <what>` when it has none in time. */
export const untilRow = async (client: Client, what: string, text: string, withinMs: number): Promise<void> => {
  for (const deadline = Date.now() + withinMs; (await client.query(text)).rowCount === 0; await sleep(10)) {
    if (Date.now() > deadline) throw new Error(`no row: ${what}`)
    // A transaction reads the activity of the server once otherwise.
    await client.query('SELECT pg_stat_clear_snapshot()')
  }
}

/** Lets writers of settlements wait while `run` runs; readers continue. */
export const withoutSettlementWrites = async (client: Client, run: () => Promise<void>): Promise<void> => {
  await client.query('BEGIN')
  try {
    await client.query('LOCK TABLE settlements IN SHARE MODE')
    await run()
  } finally {
    await client.query('ROLLBACK')
  }
}

/** Resolves when a process waits for a lock with a statement like `pattern`. Throws as `untilRow` does. */
export const untilWaiting = (client: Client, what: string, pattern: string, withinMs: number): Promise<void> => {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND query ILIKE '${pattern}'`
  return untilRow(client, what, waiting, withinMs)
}

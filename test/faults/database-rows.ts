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

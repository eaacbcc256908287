import { type ConcurrencyLimit, createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { unavailable } from '../lib/errors.ts'
import type { Client } from './freshness/waits.ts'

/** Long reads that use the database at the same time. One address has at most half of them. */
const LONG_AT_ONCE = 2

/** Most reads that wait for their turn, of each kind. */
const MAX_WAITING = 512

/**
 * Runs a read of the database in the turn of its client. Throws `service_unavailable` when too many reads wait, and the
 * reason of `disconnected` when the client left before its turn.
 */
type InTurn = <T>(client: Client, read: () => Promise<T>) => Promise<T>

/**
 * How reads of the database take turns. Addresses take turns, and no address has more than half of the connections. Work
 * that takes many times as long as a page is `long`: it has few connections of its own, so that pages do not wait for it.
 */
export type ReadTurns = { readonly page: InTurn; readonly long: InTurn }

/** Creates the turns of a process with a number of connections to the database. */
export const createReadTurns = (connections: number): ReadTurns => {
  const turnsOf = (atOnce: number): InTurn => {
    const refuse = () => unavailable('too many reads at once: retry after 1 s')
    const limited: ConcurrencyLimit = createConcurrencyLimit({ atOnce, waiting: MAX_WAITING, refuse })
    return (client, read) => limited(read, client.disconnected, client.address)
  }
  return { page: turnsOf(Math.max(1, connections - LONG_AT_ONCE)), long: turnsOf(LONG_AT_ONCE) }
}

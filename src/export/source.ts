import type { Database, Handle } from '../db/pool.ts'
import { createActivity } from '../db/queries/activity.ts'
import type { Blocks } from '../db/queries/export.ts'
import { createHistory } from '../db/queries/history.ts'
import { createListings, MAX_ROWS } from '../db/queries/listings.ts'
import { createTotals } from '../db/queries/totals.ts'
import type { ListSources } from '../reads/lists/sources.ts'
import { endOf, startOf } from './days.ts'

type Sources = Pick<ListSources, 'chains' | 'maxLagSeconds' | 'lists'>

/** What tables are read from: one snapshot of the index, and nodes for what it has not read yet. */
export type Source = Sources &
  Pick<ListSources, 'history'> & { readonly rows: Database['rows']; readonly pageRows: number }

/** Makes the source of a snapshot. Pages of the index have at most `pageRows` rows. */
export const sourceOf = (sources: Sources, handle: Handle, rows: Database['rows'], pageRows = MAX_ROWS): Source => {
  const snapshot: Pick<Database, 'run' | 'rows'> = { run: (query) => query(handle), rows }
  const [activity, listings, totals] = [createActivity({ rows }), createListings({ rows }), createTotals(snapshot)]
  const lists = { ...sources.lists, activity, listings, totals }
  return { ...sources, lists, history: createHistory(snapshot), rows, pageRows }
}

/** The blocks of a day, and its last second. */
export type Day = Blocks & { readonly time: bigint }

/** Reads which blocks of a chain a day has. The last one is before the next block with a log. */
export const readDay = async ({ lists }: Source, chainId: Blocks['chainId'], day: string): Promise<Day> => ({
  chainId,
  low: await lists.activity.blockAt(chainId, startOf(day)),
  high: (await lists.activity.blockAt(chainId, endOf(day))) - 1n,
  time: endOf(day) - 1n,
})

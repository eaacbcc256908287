import { and, eq, inArray, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { sleep } from '../../lib/lifecycle.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Kind, kinds } from '../../protocol/entities.ts'
import { nextFormat } from '../../protocol/rows.ts'
import { asRows } from '../bulk.ts'
import type { Database, Handle } from '../pool.ts'
import { type Renderer, withTexts } from '../rendering.ts'
import { entityTables, type Keyed, type ObservationRow } from '../stored.ts'
import { lockRefreshQueue } from './refresh-queue.ts'

/**
 * Ids that one statement scans, rows that one transaction renders, for which writers of the chain wait, and the pauses in
 * milliseconds after a range without stale rows and after a transaction. Other work has priority.
 */
const PACE = { range: 10_000n, atOnce: 200, idleMs: 200, yieldMs: 10 } as const

type Pace = Readonly<Record<'atOnce' | 'idleMs' | 'yieldMs', number>> & { readonly range: bigint }

/**
 * Rows without a text or with one of another key. Texts of a later format are left alone, or two releases that run at
 * once would undo each other's work.
 */
const staleIds = async (
  handle: Handle,
  chainId: ChainId,
  kind: Kind,
  { key }: Renderer,
  { after, range, atOnce }: Pick<Pace, 'range' | 'atOnce'> & { readonly after: bigint },
) => {
  const { rows } = await handle.execute<{ id: string }>(sql`SELECT id FROM ${entityTables[kind].observations}
    WHERE chain_id = ${chainId} AND id > ${after} AND id <= ${after + range}
      AND (row_text IS NULL OR (render_key <> ${key} AND render_key < ${nextFormat(key)})) ORDER BY id LIMIT ${atOnce}`)
  return rows.map(({ id }) => BigInt(id))
}

/** Renders rows by their ids and returns how many have a text now. Rows with an unknown token stay without one. */
const renderSome = (database: Database, chainId: ChainId, kind: Kind, renderer: Renderer, ids: readonly bigint[]) =>
  database.transaction(async (handle) => {
    await lockRefreshQueue(handle, chainId)
    const table: Keyed = entityTables[kind].observations
    const observations = await handle
      .select()
      .from(table as PgTable)
      .where(and(eq(table.chainId, chainId), inArray(table.id, [...ids])))
      .for('no key update')
    const texts = (await withTexts(handle, chainId, kind, renderer, observations as ObservationRow<Kind>[])).flatMap(
      ({ id, rowText, renderKey, inclusions }) =>
        rowText === null ? [] : { id, rowText, renderKey, ...(kind === 'event' && { inclusions }) },
    )
    if (texts.length === 0) return 0
    const { names, source } = asRows(table, texts)
    const inclusions = kind === 'event' ? sql`, inclusions = given.inclusions` : sql``
    await handle.execute(sql`WITH given ${names} AS (SELECT * FROM ${source})
      UPDATE ${table} AS seen SET row_text = given.row_text, render_key = given.render_key, render_flip = NOT seen.render_flip ${inclusions}
      FROM given WHERE seen.chain_id = ${chainId} AND seen.id = given.id`)
    return texts.length
  })

/**
 * Renders the observations of a chain that have no text, or one of another configuration or an earlier format: after a
 * migration, and after an input of the texts has changed. Answers are correct without it. Several processes may run it
 * at once. Returns the number of rendered rows. Throws `service_unavailable` when the database is out of reach.
 */
export const rerender = async (
  database: Database,
  chainId: ChainId,
  renderer: Renderer,
  signal: AbortSignal,
  { range, atOnce, idleMs, yieldMs }: Pace = PACE,
) => {
  let rendered = 0
  for (const kind of kinds) {
    const { observations: table } = entityTables[kind]
    const newest = sql`SELECT max(id) AS last FROM ${table} WHERE chain_id = ${chainId}`
    const { rows } = await database.run((handle) => handle.execute<{ last: string | null }>(newest))
    const last = BigInt(rows[0]?.last ?? -1)
    for (let after = -1n; after < last && !signal.aborted; ) {
      const upTo = after + range
      const ids = await database.run((handle) => staleIds(handle, chainId, kind, renderer, { after, range, atOnce }))
      if (ids.length > 0) rendered += await renderSome(database, chainId, kind, renderer, ids)
      after = ids.length === atOnce ? (ids.at(-1) ?? upTo) : upTo
      await sleep(ids.length > 0 ? yieldMs : idleMs, signal)
    }
  }
  return rendered
}

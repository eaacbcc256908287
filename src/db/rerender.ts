import { and, eq, inArray, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { sleep } from '../lib/lifecycle.ts'
import type { ChainId } from '../protocol/chains.ts'
import { type Kind, kinds } from '../protocol/kinds.ts'
import { nextFormat } from '../protocol/rows.ts'
import { asRows } from './bulk.ts'
import type { Database, Handle } from './pool.ts'
import { type Renderer, withTexts } from './rendering.ts'
import { entityTables, type Keyed, type SeenRow } from './stored.ts'
import { holdNotes } from './unobserved.ts'

/** Ids that one statement looks through, and rows that one transaction renders: writers of the chain wait for the latter. */
const RANGE = 10_000n
const AT_ONCE = 200

/** The pause after a range in which nothing was to do, and after a transaction, in milliseconds: this work can wait, others' cannot. */
const REST_MS = 200
const YIELD_MS = 10

/** Rows that are to be rendered, but for those of a later format: two releases that run side by side would undo each other's work. */
const staleIds = async (
  handle: Handle,
  chainId: ChainId,
  kind: Kind,
  { key }: Renderer,
  [after, upTo]: readonly [bigint, bigint],
): Promise<bigint[]> => {
  const { rows } = await handle.execute<{ id: string }>(sql`SELECT id FROM ${entityTables[kind].observations}
    WHERE chain_id = ${chainId} AND id > ${after} AND id <= ${upTo}
      AND (row_text IS NULL OR (render_key <> ${key} AND render_key < ${nextFormat(key)})) ORDER BY id LIMIT ${AT_ONCE}`)
  return rows.map(({ id }) => BigInt(id))
}

/** Renders rows by their ids; those whose token is not known stay without a text. Returns how many have one now. */
const renderSome = (
  database: Database,
  chainId: ChainId,
  kind: Kind,
  renderer: Renderer,
  ids: readonly bigint[],
): Promise<number> =>
  database.transaction(async (handle) => {
    await holdNotes(handle, chainId)
    const table: Keyed = entityTables[kind].observations
    const seen = await handle
      .select()
      .from(table as PgTable)
      .where(and(eq(table.chainId, chainId), inArray(table.id, [...ids])))
      .for('no key update')
    const texts = (await withTexts(handle, chainId, kind, renderer, seen as SeenRow<Kind>[])).flatMap(
      ({ id, rowText, renderKey, inclusions }) =>
        rowText === null ? [] : { id, rowText, renderKey, ...(kind === 'event' && { inclusions }) },
    )
    if (texts.length === 0) return 0
    const { names, source } = asRows(table, texts)
    const all = sql.join([...names], sql`, `)
    const inclusions = kind === 'event' ? sql`, inclusions = given.inclusions` : sql``
    await handle.execute(sql`WITH given (${all}) AS (SELECT * FROM ${source})
      UPDATE ${table} AS seen SET row_text = given.row_text, render_key = given.render_key, render_flip = NOT seen.render_flip ${inclusions}
      FROM given WHERE seen.chain_id = ${chainId} AND seen.id = given.id`)
    return texts.length
  })

const lastId = async (database: Database, chainId: ChainId, kind: Kind): Promise<bigint> => {
  const { rows } = await database.run((handle) =>
    handle.execute<{ last: string | null }>(
      sql`SELECT max(id) AS last FROM ${entityTables[kind].observations} WHERE chain_id = ${chainId}`,
    ),
  )
  return BigInt(rows[0]?.last ?? -1)
}

/**
 * Goes through a chain's observations and renders the rows that have no text, or one of another configuration or of an earlier format: after
 * a migration, and where something that a text depends on has changed. Answers are right without it. Safe to run in several
 * processes at once. Returns how many rows were rendered. Throws `service_unavailable` when the database is out of reach.
 */
export const rerender = async (
  database: Database,
  chainId: ChainId,
  renderer: Renderer,
  signal: AbortSignal,
): Promise<number> => {
  let rendered = 0
  for (const kind of kinds) {
    const last = await lastId(database, chainId, kind)
    for (let after = -1n; after < last && !signal.aborted; ) {
      const upTo = after + RANGE
      const ids = await database.run((handle) => staleIds(handle, chainId, kind, renderer, [after, upTo]))
      if (ids.length > 0) rendered += await renderSome(database, chainId, kind, renderer, ids)
      after = ids.length === AT_ONCE ? (ids.at(-1) ?? upTo) : upTo
      await sleep(ids.length > 0 ? YIELD_MS : REST_MS, signal)
    }
  }
  return rendered
}

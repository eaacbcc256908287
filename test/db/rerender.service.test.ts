import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rerender } from '../../src/db/index/rerender.ts'
import type { Database } from '../../src/db/pool.ts'
import { createRenderer } from '../../src/db/rendering.ts'
import { ROW_FORMAT } from '../../src/protocol/records.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf, type Plan, seedDeployment, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const chainId = 8453
const plan: Plan = { token: seedToken, rowsABlock: 50, wallets: 7, events: 5 }
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)
const POSITIONS = 1_200
const tables = ['event_observations', 'deposit_observations', 'position_observations'] as const

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  await writeSeeded(database, chainId, blockOf(100n), seedRows(plan, { events: 5, deposits: 10, positions: POSITIONS }))
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const all = POSITIONS + 15
const renderer = createRenderer(seedDeployment(chainId))
const later = createRenderer(seedDeployment(chainId), ROW_FORMAT + 1)
const render = (by: typeof renderer) => rerender(database, chainId, by, new AbortController().signal)

/** Every stored text with its render key. */
const texts = async (): Promise<unknown[]> => {
  const each = tables.map((table) => `SELECT '${table}', id, row_text, render_key, render_flip FROM ${table}`)
  const { rows } = await database.run((handle) => handle.execute(sql.raw(`${each.join(' UNION ALL ')} ORDER BY 1, 2`)))
  return rows.map(({ render_flip, ...row }) => row)
}

test('rows with a current text are not rendered again', async () => {
  expect(await render(renderer)).toBe(0)
})

test('cleared texts are rendered again to the same bytes', async () => {
  const before = await texts()
  for (const table of tables) {
    await database.run((handle) => handle.execute(sql.raw(`UPDATE ${table} SET row_text = NULL`)))
  }
  expect(await texts()).not.toEqual(before)
  expect(await render(renderer)).toBe(all)
  expect(await texts()).toEqual(before)
})

test('a later format replaces the texts of an earlier one, and never the other way round', async () => {
  expect(await render(later)).toBe(all)
  expect(await render(renderer)).toBe(0)
  await database.run((handle) => handle.execute(sql`UPDATE event_observations SET row_text = NULL WHERE id = 1`))
  expect(await render(renderer)).toBe(1)
  expect(await render(later)).toBe(1)
})

test('a row with an unknown token stays without a text and does not delay other rows', async () => {
  const other = `\\x${'ab'.repeat(20)}`
  await database.run((handle) =>
    handle.execute(sql.raw(`UPDATE event_observations SET payment_token = '${other}' WHERE id = 2`)),
  )
  const members = upTo(POSITIONS).filter((id) => 1 + (id % plan.events) === 2).length + 2
  expect(await render(later)).toBe(0)
  const { rows } = await database.run((handle) =>
    handle.execute(sql`SELECT (SELECT count(*) FROM position_observations WHERE row_text IS NULL)
      + (SELECT count(*) FROM deposit_observations WHERE row_text IS NULL)
      + (SELECT count(*) FROM event_observations WHERE row_text IS NULL) AS missing`),
  )
  expect(rows).toEqual([{ missing: String(members + 1) }])
  await database.run((handle) =>
    handle.execute(
      sql.raw(`INSERT INTO tokens (chain_id, address, symbol, decimals) VALUES (${chainId}, '${other}', 'X', 18)`),
    ),
  )
  expect(await render(later)).toBe(members + 1)
})

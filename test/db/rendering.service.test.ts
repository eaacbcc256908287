import { eq, sql } from 'drizzle-orm'
import { getAddress } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { rerender } from '../../src/db/index/rerender.ts'
import type { Database } from '../../src/db/pool.ts'
import { createRenderer, type Renderer, UNIT, withTexts } from '../../src/db/rendering.ts'
import { depositObservations, eventObservations } from '../../src/db/schema.ts'
import type { ObservationRow } from '../../src/db/stored.ts'
import { ServiceError } from '../../src/lib/errors.ts'
import { ROW_FORMAT } from '../../src/protocol/records.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { blockOf, type Plan, seedDeployment, seedRows, seedToken, writeSeeded } from '../support/seed-index.ts'

const [chainId, other] = [8453, 56]
/** Deposit n belongs to event 1 + n mod 3. */
const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 7, events: 3 }
const renderer = createRenderer(seedDeployment(chainId))
const token = getAddress(`0x${'ab'.repeat(20)}`)
const bytes = `'\\x${'ab'.repeat(20)}'`
const changing = ['events', 'event_observations', 'deposit_observations']

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
  for (const chain of [chainId, other])
    await writeSeeded(database, chain, blockOf(10n), seedRows(plan, { events: 3, deposits: 6 }))
  for (const table of changing) await run(`CREATE TABLE kept_${table} AS TABLE ${table}`)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})
beforeEach(() =>
  run(
    ['tokens', ...changing]
      .map((table) => `DELETE FROM ${table}`)
      .concat(changing.map((table) => `INSERT INTO ${table} SELECT * FROM kept_${table}`))
      .join(';'),
  ),
)

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))

const events = (by = renderer) =>
  database.run(async (handle) => {
    const rows = await handle.select().from(eventObservations).where(eq(eventObservations.chainId, chainId))
    return withTexts(handle, chainId, 'event', by, rows as ObservationRow<'event'>[])
  })
const deposits = (by = renderer) =>
  database.run(async (handle) => {
    const rows = await handle.select().from(depositObservations).where(eq(depositObservations.chainId, chainId))
    return withTexts(handle, chainId, 'deposit', by, rows as ObservationRow<'deposit'>[])
  })
type Texts = readonly { readonly id: bigint; readonly rowText: string | null }[]
const withText = (rows: Texts): number[] =>
  rows.flatMap(({ id, rowText }) => (rowText === null ? [] : Number(id))).toSorted((a, b) => a - b)
const textOf = (rows: Texts, id: bigint) => rows.find((row) => row.id === id)?.rowText

test('rows are rendered with their token, and events with their inclusions, under the key of the renderer', async () => {
  const rows = await events()
  expect(withText(rows)).toEqual([1, 2, 3])
  for (const row of rows) {
    expect(row.renderKey).toBe(renderer.key)
    expect(JSON.parse(row.rowText ?? '')).toMatchObject({ id: Number(row.id) })
    expect((row as { inclusions?: string | null }).inclusions?.split(UNIT).length).toBeGreaterThan(1)
  }
  const members = await deposits()
  expect(withText(members)).toEqual([1, 2, 3, 4, 5, 6])
  expect(members.every((row) => !('inclusions' in row) && row.rowText?.includes('USDC'))).toBe(true)
  expect(await database.run((handle) => withTexts(handle, chainId, 'event', renderer, []))).toEqual([])
})

test('a row without a fact or with an unknown token has no text, and no inclusions', async () => {
  await run(`DELETE FROM events WHERE chain_id = ${chainId} AND id = 1;
    UPDATE event_observations SET payment_token = ${bytes} WHERE chain_id = ${chainId} AND id = 2;
    INSERT INTO tokens VALUES (${other}, ${bytes}, 'OTHER', 6)`)
  const rows = await events()
  expect(withText(rows)).toEqual([3])
  expect(rows.filter(({ rowText }) => rowText === null)).toEqual(
    [1n, 2n].map(() => expect.objectContaining({ inclusions: null, renderKey: renderer.key })),
  )
  // Deposits of the events 1 and 2.
  expect(withText(await deposits())).toEqual([2, 5])
  await run(`INSERT INTO tokens VALUES (${chainId}, ${bytes}, 'OWN', 6)`)
  expect(withText(await events())).toEqual([2, 3])
  expect(textOf(await deposits(), 1n)).toContain('OWN')
})

test('members of an event that is not observed show the token that it had last, those of others the observed one', async () => {
  await run(`INSERT INTO tokens VALUES (${chainId}, ${bytes}, 'LAST', 6), (${other}, ${bytes}, 'OTHER', 6);
    UPDATE event_observations SET payment_token = ${bytes} WHERE chain_id = ${chainId} AND id = 2;
    DELETE FROM event_observations WHERE chain_id = ${chainId} AND id = 2;
    UPDATE event_observations SET payment_token = ${bytes} WHERE chain_id = ${other} AND id = 3`)
  const rows = await deposits()
  expect([textOf(rows, 1n)?.includes('LAST'), textOf(rows, 2n)?.includes('USDC')]).toEqual([true, true])
  await run(`UPDATE events SET payment_token = NULL WHERE chain_id = ${chainId} AND id = 2`)
  expect(withText(await deposits())).toEqual([2, 3, 5, 6])
})

test('values that cannot be rendered leave their row without a text, and any other fault is thrown', async () => {
  const failing = (fault: Error): Renderer => ({
    ...renderer,
    row: (kind, fact, seen, shown) => {
      if (fact.id === 2n) throw fault
      return renderer.row(kind, fact, seen, shown)
    },
  })
  const rows = await events(failing(new ServiceError('upstream_error', 'no')))
  expect(withText(rows)).toEqual([1, 3])
  expect(rows.find(({ id }) => id === 2n)).toMatchObject({ inclusions: null })
  await expect(events(failing(new TypeError('no')))).rejects.toThrow(TypeError)
})

test('a renderer shows the configured token, else the stored one', () => {
  const stored = new Map([[token, { token, symbol: 'A', decimals: 6 }]])
  expect(renderer.token(seedToken, new Map())).toMatchObject({ symbol: 'USDC' })
  expect(
    renderer.token(getAddress(seedToken), new Map([[getAddress(seedToken), { token, symbol: 'X', decimals: 1 }]])),
  ).toMatchObject({
    symbol: 'USDC',
  })
  expect([renderer.token(token, stored)?.symbol, renderer.token(token, new Map())]).toEqual(['A', null])
  expect(createRenderer(seedDeployment(chainId), ROW_FORMAT + 1).key).toBeGreaterThan(renderer.key)
})

const later = createRenderer(seedDeployment(chainId), ROW_FORMAT + 1)
/** Renders in steps of a size, without pauses. */
const render = (by = renderer, { range = 10_000n, atOnce = 200 } = {}, signal = new AbortController().signal) =>
  rerender(database, chainId, by, signal, { range, atOnce, idleMs: 0, yieldMs: 0 })
const missing = async () => {
  const { rows } = await run(
    `SELECT chain_id, id FROM deposit_observations WHERE row_text IS NULL ORDER BY chain_id, id`,
  )
  return rows.map((row) => `${row.chain_id} ${row.id}`)
}

test.each([
  [{ range: 2n, atOnce: 100 }],
  [{ range: 100n, atOnce: 2 }],
  [{ range: 100n, atOnce: 3 }],
  [{ range: 3n, atOnce: 2 }],
  [{ range: 1n, atOnce: 1 }],
])('all rows of the chain are rendered in steps of %o', async (sizes) => {
  await run('UPDATE deposit_observations SET row_text = NULL')
  await run(`UPDATE event_observations SET row_text = NULL, inclusions = NULL WHERE id = 2`)
  expect(await render(renderer, sizes)).toBe(7)
  expect(await missing()).toEqual([1, 2, 3, 4, 5, 6].map((id) => `${other} ${id}`))
  const { rows } = await run(
    `SELECT chain_id, inclusions IS NULL AS none FROM event_observations WHERE id = 2 ORDER BY 1`,
  )
  expect(rows).toEqual([
    { chain_id: other, none: true },
    { chain_id: chainId, none: false },
  ])
})

test('rows of an earlier format are rendered, those of a later one are not, and each rendering turns the flip', async () => {
  const flips = async () =>
    (await run(`SELECT render_flip FROM deposit_observations WHERE chain_id = ${chainId} ORDER BY id`)).rows
  const before = await flips()
  expect(await render()).toBe(0)
  expect(await render(later)).toBe(9)
  expect(await flips()).toEqual(before.map(({ render_flip }) => ({ render_flip: !render_flip })))
  expect([await render(), await render(later)]).toEqual([0, 0])
  const { rows } = await run(`SELECT DISTINCT render_key FROM deposit_observations WHERE chain_id = ${other}`)
  expect(rows).toEqual([{ render_key: String(createRenderer(seedDeployment(other)).key) }])
})

test('a rendering that is given up stops', async () => {
  await run('UPDATE deposit_observations SET row_text = NULL')
  expect(await render(renderer, undefined, AbortSignal.abort())).toBe(0)
  expect(await missing()).toHaveLength(12)
})

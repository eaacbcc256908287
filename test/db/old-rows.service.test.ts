import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { migrate } from '../../src/db/migrate.ts'
import { migrationsFolder } from '../../src/db/versions.ts'
import { openApp } from '../support/app.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { createTestDatabase } from '../support/database.ts'
import { randomRows, writeRandomRows } from '../support/random-rows.ts'
import { seedDeployment } from '../support/seed-index.ts'

const deployment = seedDeployment(8453)
const rows = randomRows(deployment, 60, 9)
const folder = mkdtempSync(join(tmpdir(), 'fx-before-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The migrations before those of lists. */
const Journal = z.looseObject({ entries: z.array(z.looseObject({ tag: z.string() })) })
cpSync(migrationsFolder, folder, { recursive: true })
const journal = join(folder, 'meta/_journal.json')
const { entries, ...rest } = Journal.parse(JSON.parse(readFileSync(journal, 'utf8')))
writeFileSync(journal, JSON.stringify({ ...rest, entries: entries.filter(({ tag }) => tag < '0010') }))

const tables = [
  'events',
  'deposits',
  'positions',
  'event_observations',
  'deposit_observations',
  'position_observations',
  'cursors',
  'looks',
  'anchors',
]
const added = ['payment_token', 'row_text', 'render_key', 'render_flip', 'inclusions']

test('a migrated database of before lists serves the same lists and portfolios at once', async () => {
  const now = await createTestDatabase()
  const before = await cloneDatabase(inject('postgresUrl'), 'template0')
  await migrate({ databaseUrl: before.url, folder })
  const open = (databaseUrl: string) => openApp({ databaseUrl, nodes: [{ deployment }] })
  const [fresh, old] = [await open(now.url), await open(before.url)]
  try {
    await writeRandomRows(fresh.database, deployment, rows)
    // The previous release stores the same values, except for the columns that it does not know.
    for (const table of tables) {
      const columns = await old.database.run((handle) =>
        handle.execute<{ name: string }>(
          sql`SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ${table}`,
        ),
      )
      const names = columns.rows.map(({ name }) => name)
      if (table === 'events') for (const name of added) expect(names).not.toContain(name)
      const { rows: found } = await fresh.database.run((handle) =>
        handle.execute<{ all: string }>(sql`SELECT json_agg(x)::text AS all FROM ${sql.identifier(table)} x`),
      )
      const list = sql.raw(names.map((name) => `"${name}"`).join())
      await old.database.run((handle) =>
        handle.execute(
          sql`INSERT INTO ${sql.identifier(table)} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${sql.identifier(table)}, ${found[0]?.all ?? '[]'}::json)`,
        ),
      )
    }
    await migrate({ databaseUrl: before.url })
    // The worker reads tokens when it observes events.
    const { rows: tokens } = await fresh.database.run((handle) =>
      handle.execute<{ all: string }>(sql`SELECT json_agg(x)::text AS all FROM tokens x`),
    )
    await old.database.run((handle) =>
      handle.execute(
        sql`INSERT INTO tokens SELECT * FROM json_populate_recordset(NULL::tokens, ${tokens[0]?.all ?? '[]'}::json)`,
      ),
    )
    const wallets = [...new Set(rows.positions.map(({ fact }) => fact.hedger))].slice(0, 5)
    const paths = [
      ...['events', 'deposits', 'positions'].flatMap((kind) => [
        `/v1/hedge/${kind}?chainId=8453&limit=200`,
        `/v1/hedge/${kind}?chainId=8453&limit=200&include=stats,utilization,range`,
      ]),
      ...wallets.map((wallet) => `/v1/wallets/${wallet}/portfolio?state=all&chainId=8453`),
    ]
    for (const url of paths) {
      const [expected, answer] = [await fresh.app.inject({ url }), await old.app.inject({ url })]
      const dataOf = (body: string) => body.replace(/"lagSeconds":\d+/g, '"lagSeconds":0')
      expect(answer.statusCode, answer.body).toBe(200)
      expect(dataOf(answer.body), url).toBe(dataOf(expected.body))
    }
  } finally {
    await Promise.all([fresh.close(), old.close()])
    await Promise.all([now.close(), before.close()])
  }
})

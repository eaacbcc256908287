import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeEach, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { migrate } from '../../src/db/migrate.ts'
import { migrationsFolder, migrationsOf } from '../../src/db/versions.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const Journal = z.looseObject({ entries: z.array(z.looseObject({})) })

/** The migrations of this version and one more. */
const next = mkdtempSync(join(tmpdir(), 'fx-next-'))
cpSync(migrationsFolder, next, { recursive: true })
const journal = join(next, 'meta/_journal.json')
const { entries, ...rest } = Journal.parse(JSON.parse(readFileSync(journal, 'utf8')))
const when = (migrationsOf(migrationsFolder).at(-1)?.when ?? 0) + 1
const entry = { idx: entries.length, version: '7', when, tag: '9000_next', breakpoints: true }
writeFileSync(journal, JSON.stringify({ ...rest, entries: [...entries, entry] }))
writeFileSync(join(next, '9000_next.sql'), 'ALTER TABLE "events" ADD COLUMN "remark" text;')
afterAll(() => rmSync(next, { recursive: true }))

let database: TestDatabase
/** Another client of the same database. */
let other: Client

beforeEach(async () => {
  database = await createTestDatabase()
  other = new Client(database.url)
  await other.connect()
})
afterEach(async () => {
  await other.end()
  await database.close()
})

const applied = async (): Promise<number> =>
  (await other.query('SELECT 1 FROM drizzle.__drizzle_migrations')).rowCount ?? 0

test('several concurrent migrations run one after another, and an empty database is migrated once', async () => {
  const empty = await cloneDatabase(inject('postgresUrl'), 'template0')
  await Promise.all([1, 2, 3].map(() => migrate({ databaseUrl: empty.url })))
  await empty.close()
})

test('a migration that waits too long for another one gives up with the reason', async () => {
  await other.query('SELECT pg_advisory_lock(4210001)')
  const late = migrate({ databaseUrl: database.url, folder: next, lockWithinMs: 100 })
  await expect(late).rejects.toThrow(/another process has been migrating.*run this again/)
  await other.query('SELECT pg_advisory_unlock_all()')
  await migrate({ databaseUrl: database.url, folder: next })
})

test('a migration gives up on a table in use instead of blocking other statements, and migrates nothing in part', async () => {
  const before = await applied()
  await other.query('BEGIN; SELECT 1 FROM events')
  const busy = migrate({ databaseUrl: database.url, folder: next, tableWithinMs: 100 })
  await expect(busy).rejects.toThrow(/in use.*nothing was migrated/)
  await other.query('COMMIT')
  expect(await applied()).toBe(before)
  await migrate({ databaseUrl: database.url, folder: next })
  expect(await applied()).toBe(before + 1)
})

test('an older version keeps the additions of a newer one, and rejects a database that no longer supports it', async () => {
  await migrate({ databaseUrl: database.url, folder: next })
  await migrate({ databaseUrl: database.url })
  await other.query('INSERT INTO schema_floors VALUES (9000)')
  await expect(migrate({ databaseUrl: database.url })).rejects.toThrow(/newer than this version/)
  await migrate({ databaseUrl: database.url, folder: next })
})

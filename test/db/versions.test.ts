import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Database } from '../../src/db/pool.ts'
import {
  type Applied,
  migrationsFolder,
  migrationsOf,
  requireSessions,
  requireVersion,
  requireVersionOnceReached,
  versionFault,
} from '../../src/db/versions.ts'
import { OperatorError, unavailable } from '../../src/lib/errors.ts'
import { eventually } from '../support/process.ts'

const known = [
  { tag: '0000_first', when: 10 },
  { tag: '0001_second', when: 20 },
]

test('a database with all migrations of a build supports it, and so does a newer one whose floor is not higher', () => {
  expect(versionFault(known, { times: [10, 20], oldest: 0 })).toBeNull()
  expect(versionFault(known, { times: [10, 20], oldest: 1 })).toBeNull()
  expect(versionFault(known, { times: [10, 20, 30, 40], oldest: 1 })).toBeNull()
})

test('an older database is rejected with the names of the missing migrations, also when it has others', () => {
  expect(versionFault(known, { times: [], oldest: 0 })).toMatch(/0000_first, 0001_second.*migrate/)
  expect(versionFault(known, { times: [10, 30], oldest: 0 })).toMatch(/lacks 0001_second:/)
})

test('a newer database with a higher floor than a build knows is rejected with advice', () => {
  expect(versionFault(known, { times: [10, 20, 30], oldest: 2 })).toMatch(/up to 0001.*requires 0002.*newer version/)
})

/** Statements that break builds which do not know them. */
const contracting =
  /\bDROP (?!INDEX|TRIGGER|FUNCTION)|\bRENAME\b|\bSET NOT NULL\b|\bSET DATA TYPE\b|ADD COLUMN (?!.*DEFAULT).* NOT NULL/i

/** Contracting migrations that do not directly follow a migration that raises the floor, in the same transaction. */
const unannounced = (history: readonly { readonly tag: string; readonly text: string }[]): string[] =>
  history
    .filter(
      ({ text }, at) => contracting.test(text) && !/^INSERT INTO "schema_floors"/m.test(history[at - 1]?.text ?? ''),
    )
    .map(({ tag }) => tag)

test.each([
  ['ALTER TABLE "events" DROP COLUMN "strike";', ['0001_b']],
  ['ALTER TABLE "events" RENAME COLUMN "strike" TO "rate";', ['0001_b']],
  ['ALTER TABLE "events" ALTER COLUMN "strike" SET NOT NULL;', ['0001_b']],
  ['ALTER TABLE "events" ADD COLUMN "extra" text NOT NULL;', ['0001_b']],
  ['ALTER TABLE "events" ADD COLUMN "extra" text DEFAULT \'\' NOT NULL;', []],
  ['DROP INDEX "events_by_block";', []],
  ['CREATE TABLE "more" ("id" integer PRIMARY KEY NOT NULL);', []],
])('%s after a migration that raises no floor', (text, expected) => {
  expect(
    unannounced([
      { tag: '0000_a', text: 'CREATE TABLE "a" ();' },
      { tag: '0001_b', text },
    ]),
  ).toEqual(expected)
  expect(
    unannounced([
      { tag: '0000_a', text: 'INSERT INTO "schema_floors" VALUES (0);' },
      { tag: '0001_b', text },
    ]),
  ).toEqual([])
})

test('every migration only expands or follows one that raises the floor, except for one that keeps the old names', () => {
  const history = migrationsOf(migrationsFolder).map(({ tag }) => ({
    tag,
    text: readFileSync(`${migrationsFolder}/${tag}.sql`, 'utf8'),
  }))
  // `next-to-release.service.test.ts` runs 0.1.0 on what this migration makes.
  expect(unannounced(history)).toEqual(['0018_from_0_1_0'])
})

const current = migrationsOf(migrationsFolder)
const supported: Applied = { times: current.map(({ when }) => when), oldest: 0 }

/** A database whose check has these outcomes one after another; the last one repeats. */
const checks = (...outcomes: readonly (Applied | Error)[]) => {
  const counted = { times: 0 }
  const snapshot = async () => {
    const outcome = outcomes[Math.min(counted.times, outcomes.length - 1)]
    counted.times += 1
    if (outcome instanceof Error) throw outcome
    return outcome as never
  }
  return { counted, database: { snapshot, sharesSessions: async () => false } as unknown as Database }
}
const start = (database: Database, signal = new AbortController().signal) => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line).msg) })
  return { lines, started: requireVersionOnceReached({ database, log, signal, retryEveryMs: 1 }) }
}
const down = unavailable('the database is out of reach')

test('a database that a build does not support is an error for the operator', async () => {
  await requireVersion(checks(supported).database)
  await expect(requireVersion(checks({ times: [], oldest: 0 }).database)).rejects.toBeInstanceOf(OperatorError)
  await expect(requireVersion(checks(down).database)).rejects.toBe(down)
})

test('a pooler that changes the session of a connection stops a start, by the name of its variable', async () => {
  const { database } = checks(supported)
  const shared: Database = { ...database, sharesSessions: async () => true }
  await expect(requireVersion(shared)).rejects.toBeInstanceOf(OperatorError)
  await expect(requireVersion(shared)).rejects.toThrow(/^DATABASE_URL points to a pooler in transaction mode/)
  await expect(requireSessions(shared, 'DATABASE_READ_URL')).rejects.toThrow(/^DATABASE_READ_URL points to a pooler/)
})

test('a start checks the version once when the database is in reach', async () => {
  const { counted, database } = checks(supported)
  const { lines, started } = start(database)
  await started
  expect([counted.times, lines]).toEqual([1, []])
  await expect(start(checks({ times: [], oldest: 0 }).database).started).rejects.toBeInstanceOf(OperatorError)
  const fault = new TypeError('no')
  await expect(start(checks(fault).database).started).rejects.toBe(fault)
})

test('a start does not wait for a database that is out of reach, which is checked until it answers', async () => {
  const { counted, database } = checks(down, down, down, supported)
  const { lines, started } = start(database)
  await started
  expect(lines).toEqual(['the database is out of reach: its version is checked when it answers'])
  await eventually('the version is checked', () => counted.times === 4, 5_000, 1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(counted.times).toBe(4)
})

test('the checks end with the process', async () => {
  const stop = new AbortController()
  const { counted, database } = checks(down)
  await start(database, stop.signal).started
  await eventually('the check is repeated', () => counted.times > 2, 5_000, 1)
  stop.abort()
  const { times } = counted
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(counted.times - times).toBeLessThanOrEqual(1)
})

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { migrationsFolder, migrationsOf, versionFault } from '../../src/db/versions.ts'

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
  /\bDROP (?!INDEX)|\bRENAME\b|\bSET NOT NULL\b|\bSET DATA TYPE\b|ADD COLUMN (?!.*DEFAULT).* NOT NULL/i

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

test('every migration since floors exist only expands, or follows one that raises the floor', () => {
  const history = migrationsOf(migrationsFolder).map(({ tag }) => ({
    tag,
    text: readFileSync(`${migrationsFolder}/${tag}.sql`, 'utf8'),
  }))
  const since = history.findIndex(({ text }) => text.includes('CREATE TABLE "schema_floors"'))
  expect(since).toBeGreaterThan(0)
  expect(unannounced(history.slice(since))).toEqual([])
})

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { migrationsFolder, migrationsOf, versionFault } from '../../src/db/versions.ts'

const known = [
  { tag: '0000_first', when: 10 },
  { tag: '0001_second', when: 20 },
]

test('a database with all that a build knows serves it, and so does a newer one that asks for no more', () => {
  expect(versionFault(known, { times: [10, 20], oldest: 0 })).toBeNull()
  expect(versionFault(known, { times: [10, 20], oldest: 1 })).toBeNull()
  expect(versionFault(known, { times: [10, 20, 30, 40], oldest: 1 })).toBeNull()
})

test('an older database is refused with what it lacks, also one that has had others since', () => {
  expect(versionFault(known, { times: [], oldest: 0 })).toMatch(/0000_first, 0001_second.*migrate/)
  expect(versionFault(known, { times: [10, 30], oldest: 0 })).toMatch(/lacks 0001_second:/)
})

test('a newer database that asks for more than a build knows is refused with what to do', () => {
  expect(versionFault(known, { times: [10, 20, 30], oldest: 2 })).toMatch(/up to 0001.*asks for 0002.*newer version/)
})

/** What a build that does not know of it would trip over. */
const contracting = /\b(DROP|RENAME)\b|\bSET NOT NULL\b|\bSET DATA TYPE\b|ADD COLUMN (?!.*DEFAULT).* NOT NULL/i

/** The newest migration of before there were floors. */
const BEFORE_FLOORS = 7

test.each(migrationsOf(migrationsFolder).map(({ tag }) => tag))('%s expands, or raises the floor', (tag) => {
  const sql = readFileSync(`${migrationsFolder}/${tag}.sql`, 'utf8')
  const number = Number(tag.slice(0, 4))
  if (number <= BEFORE_FLOORS || !contracting.test(sql)) return
  // Both are applied in one transaction: the floor is a migration of its own, because what is generated stays as it is.
  const before = readdirSync(migrationsFolder).find((name) => name.startsWith(String(number - 1).padStart(4, '0')))
  expect(readFileSync(`${migrationsFolder}/${before}`, 'utf8')).toMatch(/^INSERT INTO "schema_floors"/m)
})

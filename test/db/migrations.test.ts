import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'

test('the migrations produce the schema of the code, so that nothing is left to generate', { timeout: 30_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'fx-migrations-'))
  try {
    cpSync('migrations', folder, { recursive: true })
    const options = ['--dialect', 'postgresql', '--schema', './src/db/schema/*.ts', '--out', relative('.', folder)]
    const output = execFileSync('npx', ['drizzle-kit', 'generate', ...options], { encoding: 'utf8' })
    expect(output, 'run: npm run db:generate').toContain('No schema changes')
    expect(readdirSync(folder)).toEqual(readdirSync('migrations'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Columns of bytes whose default is the text of a hex number. PostgreSQL stores its characters, not its bytes. */
const hexTextDefaults = (sql: string): string[] => sql.match(/^.*\bbytea\b[^,;]*\bDEFAULT '0x.*$/gim) ?? []

test('no migration gives a column of bytes a default that begins with 0x', () => {
  expect(hexTextDefaults('ALTER TABLE "a" ADD COLUMN "b" "bytea" DEFAULT \'0x00\' NOT NULL;')).toHaveLength(1)
  expect(hexTextDefaults('ALTER TABLE "a" ADD COLUMN "b" "bytea" DEFAULT \'\\x00\' NOT NULL;')).toEqual([])
  const files = readdirSync('migrations').filter((file) => file.endsWith('.sql'))
  expect(files.length).toBeGreaterThan(0)
  const found = files.flatMap((file) => hexTextDefaults(readFileSync(join('migrations', file), 'utf8')))
  expect(found, "write the default as SQL: default(sql`'\\\\x00…'`)").toEqual([])
})

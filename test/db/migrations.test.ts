import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'

test('the migrations produce the schema of the code, so that nothing is left to generate', { timeout: 30_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'fx-migrations-'))
  try {
    cpSync('migrations', folder, { recursive: true })
    const options = ['--dialect', 'postgresql', '--schema', './src/db/schema*.ts', '--out', relative('.', folder)]
    const output = execFileSync('npx', ['drizzle-kit', 'generate', ...options], { encoding: 'utf8' })
    expect(output, 'run: npm run db:generate').toContain('No schema changes')
    expect(readdirSync(folder)).toEqual(readdirSync('migrations'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startPostgres } from '../../src/sandbox/parts/postgres.ts'
import { isAlive } from '../support/process.ts'
import { ranMs } from '../support/stopwatch.ts'

const parent = mkdtempSync(join(tmpdir(), 'fx-kept-'))
// mkdtemp makes it private. As root the server runs as another account, which must be able to enter it.
chmodSync(parent, 0o711)
const kept = join(parent, 'postgres')
afterAll(() => rmSync(parent, { recursive: true }))

const query = async (url: string, sql: string): Promise<Record<string, unknown> | undefined> => {
  const client = new Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows[0]
  } finally {
    await client.end()
  }
}

test('a temporary server answers, is private to its account, and leaves neither process nor directory', async () => {
  const postgres = await startPostgres()
  const row = await query(
    postgres.url,
    "select current_setting('data_directory') as dir, current_setting('fsync') as fsync",
  )
  const dir = String(row?.dir)
  expect(row?.fsync).toBe('off')
  expect(statSync(join(dir, '..')).mode & 0o077).toBe(0)
  await expect(query(postgres.url.replace(/:[0-9a-f]{48}@/, ':guess@'), 'select 1')).rejects.toThrow(
    'password authentication',
  )
  await postgres.close()
  expect(isAlive(postgres.pid)).toBe(false)
  expect(existsSync(join(dir, '..'))).toBe(false)
})

test('close does not wait for connected clients', async () => {
  const postgres = await startPostgres()
  const client = new Client(postgres.url)
  client.on('error', () => {})
  await client.connect()
  const started = ranMs()
  await postgres.close()
  expect(ranMs() - started).toBeLessThan(5_000)
})

test('a persistent cluster is durable and resumes with its rows and password', async () => {
  const first = await startPostgres({ dir: kept })
  await query(first.url, 'create table t as select 7 as n')
  expect((await query(first.url, "select current_setting('fsync') as fsync"))?.fsync).toBe('on')
  await first.close()
  const second = await startPostgres({ dir: kept })
  expect(await query(second.url, 'select n from t')).toEqual({ n: 7 })
  await second.close()
})

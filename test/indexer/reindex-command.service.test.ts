import { execFile } from 'node:child_process'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newestChange } from '../../src/db/changes/changes.ts'
import { reindex } from '../../src/indexer/reindex.ts'
import { builtCommand } from '../support/built.ts'
import { openIndexSteps } from '../support/index-steps.ts'
import { rowsOf } from '../support/index-writes.ts'
import type { World } from '../support/indexing.ts'
import { startWorld } from '../support/world.ts'

/* Tables that are made again from the ledger of an index, without its node. */

let world: World
let steps: Awaited<ReturnType<typeof openIndexSteps>>
let right: Awaited<ReturnType<typeof contents>>

const orders = {
  ...{ events: 'id', deposits: 'id', positions: 'id', fee_rates: 'block_number, log_index' },
  ...{ settlement_logs: 'event_id, block_number', ledger: 'block_number, log_index' },
} as const
type Table = keyof typeof orders
const names = Object.keys(orders) as Table[]

const run = (statement: string) => rowsOf(steps.database, statement)
const contents = async () =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(orders).map(async ([table, order]) => [
        table,
        await run(`SELECT to_jsonb(it) AS row FROM ${table} AS it ORDER BY ${order}`),
      ]),
    ),
  )

beforeAll(async () => {
  world = await startWorld()
  steps = await openIndexSteps(world, world.anvil.url)
  await steps.index()
  await steps.observeAll()
  right = await contents()
})
afterAll(async () => {
  await steps?.close()
  await world?.close()
})
afterEach(async () => {
  await run('DELETE FROM log_gaps')
  await steps.observeAll()
})

const work = (options: Partial<Parameters<typeof reindex>[0]> = {}) =>
  reindex({ database: steps.database, chainId: 8453, isReplaced: true, most: 7, ...options })

const counts = ({ tables }: Awaited<ReturnType<typeof work>>) =>
  Object.fromEntries([...tables].map(([name, { wrong, extra }]) => [name, `${wrong} ${extra}`]))
const clean = Object.fromEntries(names.map((name) => [name, '0 0']))

/** A removed and a changed row of each table, and what they become by themselves. */
const faults: Readonly<Record<Table, string>> = {
  events: `DELETE FROM events WHERE id = 2; UPDATE events SET underlying = 'usd/ghs', creator = decode('${'11'.repeat(20)}', 'hex') WHERE id = 1`,
  deposits: 'DELETE FROM deposits WHERE id = 1; UPDATE deposits SET amount = 1, block_number = 1 WHERE id = 2',
  positions: 'DELETE FROM positions WHERE id = 1; UPDATE positions SET tx_hash = NULL, log_index = NULL WHERE id = 2',
  fee_rates: 'DELETE FROM fee_rates',
  settlement_logs: `UPDATE settlement_logs SET tx_hash = '\\x01'`,
  ledger: `UPDATE ledger SET type = 0, event_id = NULL, wallet = NULL, amount = NULL, fee = NULL WHERE type <> 14`,
}

test('each table is compared with the ledger, and its wrong rows become as their logs are', async () => {
  expect(counts(await work())).toEqual(clean)
  for (const table of names) {
    await run(faults[table])
    const changes = await steps.database.run(newestChange)
    const found = await work({ isReplaced: false, tables: [table] })
    expect(found.tables.get(table)).toEqual({ rows: expect.any(Number), wrong: expect.any(Number), extra: 0 })
    expect(found.tables.get(table)?.wrong).toBeGreaterThan(0)
    // A row in a wrong block is found by its id.
    if (table === 'deposits')
      expect(found.findings).toContainEqual(expect.stringMatching(/^deposits 2 blockNumber: 1 /))
    expect(found.findings[0]).toMatch(new RegExp(`^${table} \\d`))
    expect(await contents()).not.toEqual(right)
    expect(await steps.database.run(newestChange)).toBe(changes)
    expect(await work({ tables: [table] })).toMatchObject({ logs: found.logs, to: found.to })
    expect([table, await contents()]).toEqual([table, right])
    expect(await steps.database.run(newestChange)).toBeGreaterThan(changes)
    expect(counts(await work())).toEqual(clean)
  }
})

test('all tables at once are right after one run, and their entities are read again', async () => {
  await run(
    names
      .filter((name) => name !== 'ledger')
      .map((name) => faults[name])
      .join('; '),
  )
  await run('UPDATE ledger SET wallet = NULL, event_id = NULL; UPDATE cursors SET totals_number = block_number')
  const lines: string[] = []
  const { logs } = await work({ onProgress: (line) => lines.push(line) })
  expect(await contents()).toEqual(right)
  expect(await run('SELECT totals_number FROM cursors')).toEqual([{ totals_number: '-1' }])
  expect(lines.length).toBeGreaterThan(3)
  expect(lines.at(-1)).toMatch(new RegExp(`^chain 8453: ${logs} logs read, up to block \\d+$`))
  const queued = await run('SELECT subject, id::integer FROM refresh_queue ORDER BY subject, id')
  expect(queued).toEqual(['deposit', 'event', 'position'].flatMap((subject) => [1, 2].map((id) => ({ subject, id }))))
  await steps.observeAll()
  await steps.expectObserved()
})

test('a row whose log the ledger does not have is reported and stays, and in a gap it is none', async () => {
  await run(`INSERT INTO positions SELECT (json_populate_record(it, '{"id": 99}')).* FROM positions AS it WHERE id = 1`)
  const found = await work()
  expect([counts(found), found.findings]).toEqual([{ ...clean, positions: '0 1' }, ['positions 99: no log']])
  const gap = `INSERT INTO log_gaps (chain_id, from_block, to_block, unread_to) SELECT 8453, block_number, block_number, block_number FROM positions WHERE id = 99`
  await run(gap)
  expect(counts(await work())).toEqual(clean)
  await run('DELETE FROM log_gaps; UPDATE positions SET tx_hash = NULL, log_index = NULL WHERE id = 99')
  expect(counts(await work())).toEqual(clean)
  await run('DELETE FROM positions WHERE id = 99')
})

/** Runs the command and returns its output and exit code. */
const command = (...flags: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> => {
  const { command, args } = builtCommand('reindex')
  const env = { PATH: process.env.PATH, DATABASE_URL: steps.url }
  return new Promise((resolve) => {
    execFile(command, [...args, ...flags], { env }, (fault, stdout, stderr) =>
      resolve({ code: fault?.code ?? 0, stdout, stderr }),
    )
  })
}

test('the command needs the database only, and its exit code is 0 when every row is as its log is', async () => {
  await run('UPDATE deposits SET amount = 1 WHERE id = 2')
  const checked = await command('--check', '--table', 'deposits,positions')
  expect(checked.code).toBe(1)
  expect(checked.stdout).toMatch(/^ {2}deposits +\d+ +1 +0$/m)
  expect(checked.stdout).toMatch(/^ {4}deposits 2 amount: 1 instead of \d+$/m)
  expect(checked.stdout).not.toContain('events')
  expect(checked.stderr).toMatch(/^chain 8453: \d+ logs read, up to block \d+$/m)
  expect((await command('--chain', '8453')).code).toBe(0)
  expect(await contents()).toEqual(right)
  expect((await command('--check')).code).toBe(0)
  await run('UPDATE cursors SET ledger_number = NULL')
  const lacking = await command()
  expect([lacking.code, lacking.stdout]).toEqual([1, expect.stringContaining('The ledger lacks logs')])
  await run('UPDATE cursors SET ledger_number = block_number')
  expect(await command('--chain', '56')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('chain: expected ids of indexed chains (8453)'),
  })
  expect(await command('--table', 'tokens')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('table: expected some of events'),
  })
})

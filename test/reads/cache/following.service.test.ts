import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { announce } from '../../../src/db/changes/changes.ts'
import { touching } from '../../../src/db/changes/scopes.ts'
import { saveHeartbeat } from '../../../src/db/index/work/heartbeat.ts'
import { moveCursor } from '../../../src/db/index/write.ts'
import type { Database } from '../../../src/db/pool.ts'
import { createChanges, resourceOf } from '../../../src/reads/cache/resources.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { heartbeatAt } from '../../support/healthy-index.ts'
import { openDatabase } from '../../support/open-database.ts'
import { blockOf } from '../../support/seed-index.ts'

const chainId = 8453

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const commit = (number: bigint, scope = 'event:1', chain = chainId): Promise<number> =>
  database.transaction(async (handle) => {
    await moveCursor(handle, chain, blockOf(number))
    await saveHeartbeat(handle, chain, heartbeatAt(blockOf(number)))
    return announce(handle, chain, touching(scope as 'event:1'))
  })

/** Changes over a database that a test may let fail or slow down, and the lines of their log. */
const follow = (run: Database['run'] = (query) => database.run(query)) => {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  return { changes: createChanges({ url: store.url, database: { run }, log }), lines }
}

test('a process follows the changes and the progress of each chain, and notifies its listeners after each commit', async () => {
  await commit(1n)
  const { changes } = follow()
  try {
    const seen: number[] = []
    const stop = changes.onCommit(() => seen.push(changes.position()))
    await expect.poll(() => changes.isCurrent([chainId])).toBe(true)
    expect(changes.reached(chainId)?.block).toEqual(blockOf(1n))
    expect(changes.reached(56)).toBeUndefined()
    // A chain that is not indexed is not current; no chain at all asks about the log only.
    expect([changes.isCurrent([56]), changes.isCurrent([chainId, 56]), changes.isCurrent([])]).toEqual([
      ...[false, false, true],
    ])
    const before = changes.version(resourceOf([chainId], 'event:2'))
    const first = await commit(2n, 'event:2')
    await expect.poll(() => changes.position()).toBe(first)
    expect(changes.version(resourceOf([chainId], 'event:2'))).toBe(first)
    expect(changes.version(resourceOf([chainId], 'event:3'))).toBe(before)
    expect(changes.reached(chainId)?.block).toEqual(blockOf(2n))
    expect(seen).toContain(first)
    stop()
    const heard = seen.length
    const second = await commit(3n, 'event:3')
    await expect.poll(() => changes.position()).toBe(second)
    expect(seen).toHaveLength(heard)
  } finally {
    await changes.close()
  }
  // Without a connection nothing is known to be current.
  expect(changes.isCurrent([])).toBe(false)
})

test('a commit that is announced during a read is read before the process stops', async () => {
  await commit(4n)
  let go = (): void => {}
  let hold: Promise<void> | null = null
  const found = { isChange: false, isEnd: false }
  const { changes } = follow(async (query) => {
    const result = await database.run(query)
    if (hold === null || !Array.isArray(result)) return result
    // The last statement of a read finds no further change.
    found.isEnd = found.isChange && result.length === 0
    found.isChange ||= result.some((row) => 'seq' in row)
    if (found.isEnd) await hold
    return result
  })
  const checks = async () => {
    const { rows } = await database.run((handle) =>
      handle.execute<{ at: string }>(sql`SELECT state_change::text AS at FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'fx-protection changes' AND query = 'SELECT 1' AND state = 'idle'`),
    )
    return rows[0]?.at
  }
  let closing = Promise.resolve()
  try {
    await expect.poll(() => changes.reached(chainId)?.block).toEqual(blockOf(4n))
    hold = new Promise((resolve) => {
      go = resolve
    })
    await commit(4n)
    await expect.poll(() => found.isEnd).toBe(true)
    const last = await commit(4n)
    // The connection is checked after the commit, so its notification has arrived.
    const checked = await checks()
    await expect.poll(async () => (await checks()) ?? checked).not.toBe(checked)
    closing = changes.close()
    hold = null
    go()
    await closing
    expect(changes.position()).toBe(last)
  } finally {
    go()
    await closing
    await changes.close()
  }
})

test('a chain is not current while its heartbeat is old or its head is far', async () => {
  await commit(4n)
  await commit(4n, 'event:1', 56)
  await database.run((handle) =>
    handle.execute(sql`UPDATE heartbeats SET reported_at = now() - interval '100 seconds' WHERE chain_id = 56`),
  )
  const { changes } = follow()
  try {
    await expect.poll(() => changes.isCurrent([chainId])).toBe(true)
    expect(changes.isCurrent([56])).toBe(false)
    await database.run((handle) => saveHeartbeat(handle, 56, heartbeatAt(blockOf(40n))))
    await commit(5n, 'event:9')
    await expect.poll(() => changes.reached(56)?.heartbeat?.head.timestamp).toBe(blockOf(40n).timestamp)
    expect(changes.isCurrent([56])).toBe(false)
  } finally {
    await changes.close()
  }
})

test('changes that are committed during each of twenty reads are read in the next attempt', async () => {
  let isBusy = true
  let next = 100n
  let reads = 0
  /** The reads of the attempt that was given up. */
  let givenUpAfter: number | null = null
  const { changes, lines } = follow(async (query) => {
    if (lines.some((line) => line.includes('during each of 20 reads'))) givenUpAfter ??= reads
    reads += 1
    if (isBusy) await commit(next++)
    const result = await database.run(query)
    if (lines.some((line) => line.includes('during each of 20 reads'))) isBusy = false
    return result
  })
  try {
    await expect.poll(() => changes.isCurrent([])).toBe(true)
    expect(lines.filter((line) => line.includes('changes were committed during each of 20 reads'))).toHaveLength(1)
    // The newest change, the first changes, and of each read the progress and the changes.
    expect(givenUpAfter).toBe(2 + 2 * 20)
    expect(changes.reached(chainId)?.block.number).toBeGreaterThanOrEqual(next - 2n)
  } finally {
    await changes.close()
  }
})

test('a read that fails is repeated, and nothing is current meanwhile', async () => {
  let isDown = true
  let failed = 0
  const { changes, lines } = follow((query) => {
    if (!isDown) return database.run(query)
    failed += 1
    return Promise.reject(new Error('the database is out of reach'))
  })
  try {
    await expect.poll(() => failed).toBeGreaterThan(1)
    expect(changes.isCurrent([])).toBe(false)
    expect(lines.join()).toContain('cannot read the change log')
    isDown = false
    await expect.poll(() => changes.isCurrent([])).toBe(true)
  } finally {
    await changes.close()
  }
})

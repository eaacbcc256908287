import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { announce } from '../../src/db/changes/changes.ts'
import { touching } from '../../src/db/changes/scopes.ts'
import { moveCursor } from '../../src/db/index/write.ts'
import type { Database } from '../../src/db/pool.ts'
import { createChanges, resourceOf } from '../../src/reads/cache/resources.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'
import { eventually } from '../support/process.ts'
import { blockOf } from '../support/seed-index.ts'

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

/** Commits a block that changes event 1, as the index does. */
const commit = (number: bigint): Promise<void> =>
  database.transaction(async (handle) => {
    await moveCursor(handle, chainId, blockOf(number))
    await announce(handle, chainId, touching('event:1'))
  })

test('a block that is committed while the change log is read becomes known together with its changes', async () => {
  await commit(1n)
  let next = 2n
  let statements = 0
  const changes = createChanges({
    url: store.url,
    // A block is committed before each of the first statements.
    database: {
      async run(query) {
        statements += 1
        if (statements < 12) await commit(next++)
        return database.run(query)
      },
    },
    log: pino({ level: 'silent' }),
  })
  const seen: { block: bigint; version: number }[] = []
  const resource = resourceOf([chainId], 'event:1')
  changes.onCommit(() =>
    seen.push({ block: changes.reached(chainId)?.block.number ?? 0n, version: changes.version(resource) }),
  )
  try {
    await eventually('the last block is known', () => changes.reached(chainId)?.block.number === next - 1n && next > 5n)
    const versions = new Map(seen.map(({ block, version }) => [block, version]))
    expect(versions.size).toBeGreaterThan(0)
    // With each block the number of its change grows, so one that is older than the block's own has missed it.
    for (const { block, version } of seen) expect(version, `block ${block}`).toBe(await versionAt(block))
  } finally {
    await changes.close()
  }
})

test('after a reconnection to a database that was restored from an older backup, every resource has changed', async () => {
  const run = (text: string) => database.run((handle) => handle.execute(sql.raw(text)))
  const changes = createChanges({ url: store.url, database, log: pino({ level: 'silent' }) })
  const other = resourceOf([chainId], 'event:2')
  try {
    await eventually('the changes are known', () => changes.reached(chainId) !== undefined)
    const before = changes.version(other)
    await commit(1_000n)
    await eventually('the change is known', () => changes.position() > before)
    const newest = changes.position()
    expect(changes.version(other)).toBe(before)
    await run(`DELETE FROM changes WHERE seq > ${before}; UPDATE change_counter SET last = ${before}`)
    await run(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
    )
    await eventually('the resource has changed', () => changes.version(other) === newest)
  } finally {
    await changes.close()
  }
})

/** The number of the change of a block: there is one change per block, in the same order. */
const versionAt = async (block: bigint): Promise<number> => {
  const { rows } = await database.run((handle) =>
    handle.execute<{ seq: string }>(`SELECT seq FROM changes ORDER BY seq OFFSET ${block - 1n} LIMIT 1`),
  )
  return Number(rows[0]?.seq)
}

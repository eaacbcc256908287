import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { takeLease } from '../../src/db/index/lease.ts'
import { readProgress } from '../../src/db/index/progress.ts'
import type { Database } from '../../src/db/pool.ts'
import { createCommits } from '../../src/indexer/commit.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/open-database.ts'

const chainId = 8453

let store: TestDatabase
let database: Database

beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url, { maxConnections: 2 })
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const block = (number: number) => ({
  number: BigInt(number),
  hash: `0x${String(number).repeat(64)}` as const,
  timestamp: BigInt(number),
})

const run = (statement: string) => database.run((handle) => handle.execute(sql.raw(statement)))

/**
 * Of the remaining positions, `stay` were observed at block 2 and one at block 1. One position was created at block 2.
 */
const fill = async (stay: number): Promise<void> => {
  const at = (number: number): string => `${number}, decode(repeat('${number}', 64), 'hex'), ${number}`
  const owner = "decode(repeat('11', 20), 'hex')"
  await run(
    `INSERT INTO positions SELECT ${chainId}, n, 1, ${owner}, 1, 0, 0, ${at(1)}, NULL, NULL FROM generate_series(0, ${stay}) n`,
  )
  await run(`INSERT INTO positions SELECT ${chainId}, ${stay + 1}, 1, ${owner}, 1, 0, 0, ${at(2)}, NULL, NULL`)
  await run(
    `INSERT INTO position_observations SELECT ${chainId}, id, 0, 0, false, ${at(2)} FROM positions WHERE id > 0`,
  )
  await run(`INSERT INTO position_observations SELECT ${chainId}, 0, 0, 0, false, ${at(1)}`)
  for (const number of [1, 2]) await run(`INSERT INTO anchors VALUES (${chainId}, ${at(number)})`)
  await run(`INSERT INTO cursors VALUES (${chainId}, ${at(2)})`)
}

test('progress is read of an empty index, of an anchor without a cursor, and of both', async () => {
  const none = { event: null, deposit: null, position: null }
  expect(await readProgress(database, chainId)).toEqual({ cursor: null, anchor: null, last: none })
  await fill(2)
  await run("INSERT INTO anchors VALUES (56, 7, decode(repeat('77', 32), 'hex'), 7)")
  const last = { ...none, position: 3n }
  expect(await readProgress(database, chainId)).toEqual({ cursor: block(2), anchor: block(2), last })
  await run('DELETE FROM cursors')
  expect(await readProgress(database, chainId)).toEqual({ cursor: null, anchor: block(2), last })
  await run('TRUNCATE positions, position_observations, anchors')
})

test('a rollback deletes any number of observations, a bounded number per transaction, and requests their refresh', async () => {
  const stay = 45_000
  await fill(stay)
  let transactions = 0
  const counted: Database = {
    ...database,
    transaction: (work) => {
      transactions += 1
      return database.transaction(work)
    },
  }
  const lease = await takeLease(database, chainId, 'leader', 60_000)
  if (lease === null) throw new Error('another worker has the lease')
  await createCommits({ chainId, database: counted, leaseTtlMs: 60_000 }).backTo(lease, block(1))
  expect(transactions).toBe(4)
  const { rows } = await run(`SELECT
    (SELECT array_agg(id) FROM position_observations) AS seen,
    (SELECT count(*)::integer FROM unobserved WHERE subject = 'position' AND id BETWEEN 1 AND ${stay}) AS requested,
    (SELECT count(*)::integer FROM unobserved WHERE subject <> 'chain') AS requests,
    (SELECT max(id)::integer FROM positions) AS last`)
  expect(rows).toEqual([{ seen: ['0'], requested: stay, requests: stay, last: stay }])
  expect(await readProgress(database, chainId)).toMatchObject({ cursor: { number: 1n }, anchor: { number: 1n } })
})

test('a rollback that ends between its transactions leaves no fact without an observation or a request', async () => {
  await run('TRUNCATE positions, position_observations, unobserved, anchors, cursors')
  await fill(25_000)
  const dying: Database = {
    ...database,
    transaction: (work) =>
      database.transaction(work).then((result) => {
        if (result === true) throw new Error('killed after a part')
        return result
      }),
  }
  const lease = await takeLease(database, chainId, 'leader', 60_000)
  if (lease === null) throw new Error('another worker has the lease')
  const backTo = createCommits({ chainId, database: dying, leaseTtlMs: 60_000 }).backTo(lease, block(1))
  await expect(backTo).rejects.toThrow('killed after a part')
  const { rows } =
    await run(`SELECT id FROM positions AS fact WHERE NOT EXISTS (SELECT FROM position_observations WHERE id = fact.id)
    AND NOT EXISTS (SELECT FROM unobserved WHERE chain_id = fact.chain_id AND subject = 'position' AND id = fact.id)`)
  // An unobserved fact gets its request at its creation. These rows were inserted without one.
  expect(rows).toEqual([])
})

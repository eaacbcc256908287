import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { takeLease } from '../../src/db/lease.ts'
import type { Database } from '../../src/db/pool.ts'
import { readProgress } from '../../src/db/progress.ts'
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

/** Of what stays, `stay` positions were seen at block 2 and one at block 1; one position was created at block 2. */
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

test('progress is told of nothing, of an anchor without a cursor, and of both', async () => {
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

test('a rollback forgets any number of observations, a bounded number at once, and notes what stays', async () => {
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
  if (lease === null) throw new Error('the lease was free')
  await createCommits({ chainId, database: counted, leaseTtlMs: 60_000 }).backTo(lease, block(1))
  expect(transactions).toBe(4)
  const { rows } = await run(`SELECT
    (SELECT array_agg(id) FROM position_observations) AS seen,
    (SELECT count(*)::integer FROM unobserved WHERE subject = 'position' AND id BETWEEN 1 AND ${stay}) AS noted,
    (SELECT count(*)::integer FROM unobserved WHERE subject <> 'chain') AS notes,
    (SELECT max(id)::integer FROM positions) AS last`)
  expect(rows).toEqual([{ seen: ['0'], noted: stay, notes: stay, last: stay }])
  expect(await readProgress(database, chainId)).toMatchObject({ cursor: { number: 1n }, anchor: { number: 1n } })
})

test('a rollback that ends between its parts leaves no fact that is neither seen nor noted', async () => {
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
  if (lease === null) throw new Error('the lease was free')
  const backTo = createCommits({ chainId, database: dying, leaseTtlMs: 60_000 }).backTo(lease, block(1))
  await expect(backTo).rejects.toThrow('killed after a part')
  const { rows } =
    await run(`SELECT id FROM positions AS fact WHERE NOT EXISTS (SELECT FROM position_observations WHERE id = fact.id)
    AND NOT EXISTS (SELECT FROM unobserved WHERE chain_id = fact.chain_id AND subject = 'position' AND id = fact.id)`)
  // The one that was never seen was noted when it was created, which these rows were not.
  expect(rows).toEqual([])
})

import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { audit } from '../../src/indexer/audit.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startWorld } from '../support/world.ts'

let world: Awaited<ReturnType<typeof startWorld>>
let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  ;[world, store] = await Promise.all([startWorld(), createTestDatabase()])
  api = await openApp({ nodes: [{ url: world.anvil.url, deployment: world.deployment }], databaseUrl: store.url })
})
afterAll(async () => {
  await api?.close()
  await Promise.all([store?.close(), world?.close()])
})

test('an index of the logs is the chain; one wrong amount and one lost row are found', async () => {
  const { database } = api
  const chain = chainOf(api.sources, 8453)
  await indexAll({ chain, database })
  const { counts, differences } = await audit({ chain, database })
  expect(differences).toEqual([])
  expect(counts).toEqual([
    { what: 'events', index: 3, chain: 3 },
    { what: 'deposits', index: 4, chain: 4 },
    { what: 'positions', index: 4, chain: 4 },
    { what: 'wallet lists', index: 4, chain: 4 },
  ])

  await database.run((handle) => handle.execute(sql`UPDATE deposits SET amount = amount + 1 WHERE id = 4`))
  await database.run((handle) => handle.execute(sql`DELETE FROM positions WHERE id = 2`))
  expect((await audit({ chain, database })).differences).toEqual([
    'getEventPositionIds of 1: [1,3] in the index, [1,2,3] on the chain',
    'deposit 4: amount is 5000000001 in the index, 5000000000 on the chain',
    'position 2 is missing in the index',
    `getHedgerPositionIds of ${world.hedger.account.address}: [1,3,4] in the index, [1,2,3,4] on the chain`,
  ])
})

test('what differs at a block that was replaced is compared where the index goes then', async () => {
  const { database } = api
  const chain = chainOf(api.sources, 8453)
  await database.run((handle) => handle.execute(sql`TRUNCATE cursors, anchors, events, deposits, positions`))
  await indexAll({ chain, database })
  const correct = (by: number) =>
    database.run((handle) => handle.execute(sql`UPDATE deposits SET amount = amount + ${by} WHERE id = 4`))
  await correct(1)
  let looks = 0
  const replaced: Chain = {
    ...chain,
    async send() {
      looks += 1
      await correct(-1)
      return [{ ok: true, value: { number: 1n, hash: `0x${'ee'.repeat(32)}`, timestamp: 1n } }] as never
    },
  }
  expect((await audit({ chain: replaced, database })).differences).toEqual([])
  expect(looks).toBe(1)
})

import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { flatten, unflatten } from '../../src/chain/rpc/batch.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import { audit } from '../../src/indexer/audit/audit.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startWorld } from '../support/world.ts'

const log = pino({ level: 'silent' })

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

test('the audit finds no difference in a correct index, and then one wrong amount and one lost row', async () => {
  const { database } = api
  const chain = chainOf(api.sources.chains, 8453)
  await indexAll({ chain, database })
  const { tables, onChain, lists, notCompared, unconfirmed, differences } = await audit({ chain, database, log })
  expect(differences).toEqual([])
  expect(unconfirmed).toEqual([])
  expect(onChain).toEqual({ event: 3, deposit: 4, position: 4, chain: 1 })
  // Two lists of each event, including the next id, which does not exist; and the lists of four wallets.
  expect(lists).toBe(2 * 5 + 4)
  const ledgerRows = (await world.actions.client.getLogs({ address: world.deployment.diamond, fromBlock: 0n })).length
  expect(tables).toEqual([
    { table: 'chain_observations', rows: 1, columns: 10, values: 10 },
    { table: 'events', rows: 3, columns: 12, values: 36 },
    { table: 'event_observations', rows: 3, columns: 23, values: 69 },
    { table: 'settlements', rows: 1, columns: 6, values: 6 },
    { table: 'deposits', rows: 4, columns: 9, values: 36 },
    { table: 'deposit_observations', rows: 4, columns: 7, values: 28 },
    { table: 'positions', rows: 4, columns: 10, values: 40 },
    { table: 'position_observations', rows: 4, columns: 6, values: 24 },
    { table: 'ledger', rows: ledgerRows, columns: 12, values: ledgerRows * 12 },
  ])
  const own = ['chain_observations (loupeHash)', 'settlements (seq, txHash, finalizedSeq)']
  expect(notCompared).toEqual([
    `${own.join(', ')}: values of the service itself`,
    expect.stringMatching(/^fee_rates: whether the index lacks/),
  ])

  await database.run((handle) => handle.execute(sql`UPDATE deposits SET amount = amount + 1 WHERE id = 4`))
  await database.run((handle) => handle.execute(sql`DELETE FROM positions WHERE id = 2`))
  await database.run((handle) => handle.execute(sql`UPDATE fee_rates SET payout_fee_rate = 1`))
  expect((await audit({ chain, database, log, pauseMs: 1 })).differences).toEqual([
    'getEventPositionIds of 1: [1,3] in the index, [1,2,3] on the chain',
    'deposits 4: amount is 5000000001 in the index, 5000000000 on the chain',
    'positions 2 is missing in the index',
    expect.stringMatching(
      /^fee_rates of block \d+: 5000,1,20000,100000 by log .* in the index, 5000,10000,20000,100000 by log/,
    ),
    'fee_rates: the newest are 5000,1,20000,100000 in the index, 5000,10000,20000,100000 on the chain',
    `getHedgerPositionIds of ${world.hedger.account.address}: [1,3,4] in the index, [1,2,3,4] on the chain`,
  ])
})

const reindex = async () => {
  const { database } = api
  await database.run((handle) =>
    handle.execute(sql`TRUNCATE cursors, anchors, events, deposits, positions, fee_rates, ledger`),
  )
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database })
}

test('a difference at a block that a reorg replaced is compared again at the new block of the index', async () => {
  const { database } = api
  const chain = chainOf(api.sources.chains, 8453)
  await reindex()
  const correct = (by: number) =>
    database.run((handle) => handle.execute(sql`UPDATE deposits SET amount = amount + ${by} WHERE id = 4`))
  await correct(1)
  let requests = 0
  // The audit reads the block at which it compares, which differs the first time.
  const replaced: Chain = {
    ...chain,
    async send(batch, options) {
      requests += 1
      if (requests > 1) return chain.send(batch, options)
      await correct(-1)
      const replacement = { number: 1n, hash: `0x${'ee'.repeat(32)}`, timestamp: 1n }
      return unflatten(
        batch,
        flatten<Request<unknown>>(batch).map(() => ({ ok: true, value: replacement })),
      )
    },
  }
  expect((await audit({ chain: replaced, database, log, pauseMs: 1 })).differences).toEqual([])
  expect(requests).toBeGreaterThan(1)
})

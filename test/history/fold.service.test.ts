import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { createHistory } from '../../src/db/queries/history.ts'
import type { EntityViews, Kind } from '../../src/protocol/entities.ts'
import { entityCalls } from '../../src/protocol/entities.ts'
import { foldAt, historyOf } from '../../src/protocol/history/history.ts'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startLife } from '../support/life.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { useProtocol } from '../support/use-protocol.ts'

/** Random actions that are tried after one whole life of an event. */
const STEPS = byForm(40, 4_000)
/** Blocks at which every entity is compared. */
const BLOCKS = byForm(1, 40)

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { read, client } = protocol

const random = createRandom(seed)
const life = startLife(protocol, random)

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

const outputOf = (outcome: Outcome<unknown> | undefined): unknown => {
  if (outcome?.ok !== true) throw new Error('a view failed')
  return outcome.value
}

beforeAll(async () => {
  store = await createTestDatabase()
  api = await openApp({ nodes: [{ url: protocol.url, deployment: protocol.deployment }], databaseUrl: store.url })
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

test(`the logs of events lead to what the views returned, at any block (seed ${seed})`, async () => {
  await life.complete()
  await life.live(STEPS)
  const chain = chainOf(api.sources.chains, 8453)
  await indexAll({ chain, database: api.database })

  const ids = life.eventIds()
  const records = await createHistory(api.database).events(8453, ids)
  expect(records.map(({ fact }) => fact.id).sort()).toEqual(ids.sort())
  const head = await client.getBlockNumber()
  const settled = { events: 0, claims: 0, values: 0 }
  for (const record of records) {
    const { id } = record.fact
    const history = historyOf(record, profile)
    if ('why' in history) throw new Error(`event ${id}: ${history.why}`)
    const { depositIds, positionIds } = life.ledger.pool(id)
    const first = record.fact.blockNumber
    const blocks = [
      first,
      head,
      ...Array.from({ length: BLOCKS }, () => BigInt(random.int(Number(first), Number(head)))),
    ]
    for (const number of blocks) {
      const block = await client.getBlock({ blockNumber: number })
      const fold = foldAt(history, number)
      const viewsOf = async <K extends Kind>(kind: K, member: bigint): Promise<EntityViews<K>> => {
        const calls = entityCalls(kind)
        const names = Object.keys(calls) as (keyof typeof calls)[]
        const found = await chain.readAt(
          block,
          names.map((name) => calls[name](member)),
        )
        return Object.fromEntries(names.map((name, at) => [name, outputOf(found[at])])) as EntityViews<K>
      }
      const { core, stats, utilization } = await viewsOf('event', id)
      const { allowExternalLp, creatorEarnings, ...state } = fold.event(block.timestamp)
      settled.values += Object.keys(state).length
      expect([number, id, { ...core, ...stats, ...utilization }]).toMatchObject([number, id, state])
      expect(creatorEarnings).toBe(stats.creatorEarnings)
      if (allowExternalLp !== null) expect(allowExternalLp).toBe(core.allowExternalLp)
      for (const member of depositIds) {
        const { deposit, pending } = await viewsOf('deposit', member)
        const state = fold.deposit(member)
        if (deposit.id === 0n) expect(state).toBeNull()
        else expect([member, { ...deposit, pending }]).toMatchObject([member, state ?? 'known'])
        settled.values += 4
      }
      for (const member of positionIds) {
        const { position } = await viewsOf('position', member)
        const state = fold.position(member)
        if (position.id === 0n) expect(state).toBeNull()
        else expect([member, position]).toMatchObject([member, state ?? 'known'])
        if (state?.claimed) settled.claims += 1
        settled.values += 3
      }
      if (stats.settledAt > 0n) settled.events += 1
    }
  }
  console.info(`${profile}: ${ids.length} events, ${JSON.stringify(settled)}`)
  expect(settled.events).toBeGreaterThan(0)
  expect(settled.claims).toBeGreaterThan(0)
  expect(await read('getTotalHedgeEvents')).toBe(BigInt(ids.length))
})

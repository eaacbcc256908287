import type { Address } from 'viem'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createHistory } from '../../src/db/queries/history.ts'
import type { EntityViews, Kind } from '../../src/protocol/entities.ts'
import { entityCalls } from '../../src/protocol/entities.ts'
import { historyOf } from '../../src/protocol/history/history.ts'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { createLedger } from '../support/ledger.ts'
import { type Action, createRandomActions } from '../support/random-actions.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { DAY, useProtocol } from '../support/use-protocol.ts'

/** Actions that are tried. */
const STEPS = byForm(200, 4_000)
/** Blocks at which every entity is compared. */
const BLOCKS = byForm(6, 40)

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { send, mineAt, now, usdc, dai, read, client } = protocol

const random = createRandom(seed)
const ledger = createLedger()
const { next, chance } = createRandomActions({ protocol, ledger, tokens: [usdc, dai], random })

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

const act = async (action: Action): Promise<void> => {
  const [from, name, args] = action
  const sent = await send(from, name, args).catch(() => undefined)
  if (sent === undefined) return
  ledger.add(sent.logs, name === 'createEvent' ? (args[0] as { readonly paymentToken: Address }).paymentToken : usdc)
  // Pools begin closed in one profile.
  if (name === 'createEvent' && profile === 'deployed')
    await send(from, 'setPoolSettings', [[...ledger.pools.keys()].at(-1) ?? 0n, true, chance(90)])
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
  for (let step = 0; step < STEPS; step += 1) {
    await act(await next())
    if (chance(4)) await mineAt((await now()) + BigInt(random.int(1, chance(10) ? 100 : 10)) * DAY)
  }
  const chain = chainOf(api.sources.chains, 8453)
  await indexAll({ chain, database: api.database })

  const ids = [...ledger.pools.keys()]
  const records = await createHistory(api.database).events(8453, ids)
  expect([...records.keys()].sort()).toEqual(ids.sort())
  const head = await client.getBlockNumber()
  const settled = { events: 0, claims: 0, values: 0 }
  for (const [id, record] of records) {
    const history = historyOf(record, profile)
    if ('why' in history) throw new Error(`event ${id}: ${history.why}`)
    const { depositIds, positionIds } = ledger.pool(id)
    const first = record.fact.blockNumber
    const blocks = [
      first,
      head,
      ...Array.from({ length: BLOCKS }, () => BigInt(random.int(Number(first), Number(head)))),
    ]
    for (const number of blocks) {
      const block = await client.getBlock({ blockNumber: number })
      const fold = history.at(number)
      const viewsOf = async <K extends Kind>(kind: K, member: bigint): Promise<EntityViews<K>> => {
        const calls = Object.entries(entityCalls(kind)).map(([name, make]) => [name, make(member)] as const)
        const found = await chain.readAt(
          block,
          calls.map(([, call]) => call),
        )
        return Object.fromEntries(
          calls.map(([name], at) => {
            const outcome = found[at]
            if (outcome?.ok !== true) throw new Error(`${name} of ${kind} ${member} failed`)
            return [name, outcome.value]
          }),
        ) as EntityViews<K>
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

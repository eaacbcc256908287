import { afterAll, beforeAll, expect, test } from 'vitest'
import { storeTokens } from '../../../src/db/index/tokens.ts'
import type { Database } from '../../../src/db/pool.ts'
import type { Filters } from '../../../src/db/queries/filters.ts'
import { createListings } from '../../../src/db/queries/listings.ts'
import { profiles } from '../../../src/protocol/profiles.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openDatabase } from '../../support/open-database.ts'
import {
  blockOf,
  type Plan,
  type SeededEvent,
  seedDeployment,
  seedEvent,
  seedToken,
  writeSeeded,
} from '../../support/seed-index.ts'
import { furtherToken } from '../../support/seed-states.ts'

/* The filter by capacity and the filter by symbol, on a chain of each profile and on both sides of every bound. */

const plan: Plan = { token: seedToken, rowsABlock: 50, wallets: 1, events: 1 }
const tip = blockOf(9n)

/** Free liquidity 0 to 4 of a zone of seven or of none; some pools are closed, settled, expired or about to expire. */
const made = (id: number, isReference: boolean): SeededEvent => {
  const { fact, seen } = seedEvent(id, plan)
  const [free, variant] = [BigInt(id % 5), Math.floor((id - 1) / 5)]
  const expiryDate = tip.timestamp + BigInt([5, 5, 5, 0, 1, 5, 5][variant] ?? 5)
  const payoutCap = [20n, 6n, 13n, 20n, 20n, 0n, 20n][variant] ?? 20n
  const terms = { strike: 13n, expiryDate }
  const [status, poolOpen] = [variant === 1 ? 1 : 0, variant !== 6]
  const isDead = expiryDate <= tip.timestamp || !poolOpen || status !== 0
  return {
    fact: { ...fact, ...terms },
    seen: {
      ...seen,
      core: { ...seen.core, ...terms, status, poolOpen, initialRate: 3n },
      range: { ...seen.range, strike: 13n, payoutCap, initialRate: 3n },
      utilization: { ...seen.utilization, availableCapacity: isReference && isDead ? 0n : free },
      paymentToken: [seedToken, furtherToken][id % 2] as `0x${string}`,
    },
  }
}

const deployments = [seedDeployment(8453), { ...seedDeployment(56), profile: 'deployed' as const }]
const ids = Array.from({ length: 35 }, (_, at) => at + 1)
const rows = deployments.flatMap(({ chainId, profile }) =>
  ids.map((id) => {
    const event = made(id, profile === 'reference')
    const capacity = profiles[profile].capacity({ ...event.seen, time: tip.timestamp })
    return { chainId, id, capacity, token: event.seen.paymentToken }
  }),
)

let store: TestDatabase
let database: Database
beforeAll(async () => {
  store = await createTestDatabase()
  database = openDatabase(store.url)
  for (const { chainId, profile } of deployments)
    await writeSeeded(database, chainId, tip, { events: ids.map((id) => made(id, profile === 'reference')) })
  await database.transaction((handle) =>
    storeTokens(handle, 8453, [
      { token: furtherToken, symbol: 'Fur', decimals: 9 },
      // The configured token shows its configured symbol.
      { token: seedToken, symbol: 'OLD', decimals: 6 },
    ]),
  )
  await database.transaction((handle) =>
    storeTokens(handle, 56, [{ token: furtherToken, symbol: 'Other', decimals: 9 }]),
  )
})
afterAll(async () => {
  await database?.close()
  await store?.close()
})

const found = async (filters: Filters, chains = deployments) => {
  const { rows, total } = await createListings(database).page({
    ...{
      kind: 'event',
      filters,
      deployments: chains,
      sort: 'created',
      order: 'asc',
      include: [],
      limit: 201,
      count: true,
    },
    queries: chains.map(({ chainId }) => ({
      ...{ chainId, after: null, upTo: null, now: null, rollback: null, renderKey: 1n },
    })),
  })
  expect(total).toBe(rows.length)
  return rows.map((row) => `${row.chainId}/${row.id}`).toSorted()
}

const namesOf = (kept: readonly (typeof rows)[number][]): string[] =>
  kept.map(({ chainId, id }) => `${chainId}/${id}`).toSorted()

test.each([1n, 2n, 3n, 4n, 5n, 6n])(
  'events with a capacity of at least %i are those whose rows show it',
  async (from) => {
    expect(await found({ capacityFrom: from })).toEqual(namesOf(rows.filter(({ capacity }) => capacity >= from)))
  },
)

test.each([
  ['usdc', seedToken, [8453, 56]],
  ['fur', furtherToken, [8453]],
  ['other', furtherToken, [56]],
  ['old', null, []],
])('events with the symbol %s are those whose token has it on their chain', async (symbol, token, chains) => {
  const expected = rows.filter((row) => row.token === token && chains.includes(row.chainId))
  expect(await found({ symbol })).toEqual(namesOf(expected))
  for (const deployment of deployments)
    expect(await found({ symbol }, [deployment])).toEqual(
      namesOf(expected.filter(({ chainId }) => chainId === deployment.chainId)),
    )
})

test('a pair matches in either case of the letters A to Z', async () => {
  const ofPair = namesOf(rows.filter(({ id }) => id % 3 === 1))
  expect(await found({ underlying: 'uSd/NgN' })).toEqual(ofPair)
  expect(await found({ underlying: 'usd/ng' })).toEqual([])
  expect(await found({ underlying: 'usd/ngn', symbol: 'fur', capacityFrom: 1n })).toEqual(
    namesOf(
      rows.filter(
        ({ chainId, id, token, capacity }) =>
          id % 3 === 1 && token === furtherToken && chainId === 8453 && capacity >= 1n,
      ),
    ),
  )
})

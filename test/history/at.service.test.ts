import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startLife } from '../support/life.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { useProtocol } from '../support/use-protocol.ts'

/** Random actions after one whole life of an event, and how many times everything is read meanwhile. */
const STEPS = byForm(12, 3_000)
const READINGS = byForm(2, 60)

const profile = inject('profile')
const protocol = await useProtocol(profile)
const random = createRandom(seed)
const life = startLife(protocol, random)

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  store = await createTestDatabase()
  const nodes = [{ url: protocol.url, deployment: protocol.deployment }]
  api = await openApp({ nodes, databaseUrl: store.url, headMaxAgeMs: 0 })
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

const { creator, lp, hedger, secondHedger } = protocol

/** The single records of everything that exists, which come from the chain. */
const recordPaths = (): string[] => [
  ...life
    .eventIds()
    .flatMap((id) => ['', '/stats', '/range', '/utilization'].map((of) => `/hedge/events/8453/${id}${of}`)),
  ...life.depositIds().flatMap((id) => ['', '/pending'].map((of) => `/hedge/deposits/8453/${id}${of}`)),
  ...life.positionIds().map((id) => `/hedge/positions/8453/${id}`),
]

/** Lists of ids and of records, which come from the index. */
const listPaths = (): string[] => [
  ...life.eventIds().flatMap((id) => ['positions', 'deposits'].map((of) => `/hedge/events/8453/${id}/${of}`)),
  ...[hedger, secondHedger].map((wallet) => `/hedge/positions/8453/wallet/${wallet}`),
  ...[creator, lp].map((wallet) => `/hedge/deposits/8453/wallet/${wallet}`),
  `/hedge/creators/8453/wallet/${creator}`,
  '/hedge/events?chainId=8453&limit=200&include=stats,range,utilization',
  `/hedge/events?chainId=8453&creator=${creator}&sort=expiry`,
  '/hedge/deposits?chainId=8453&limit=200&include=event,stats',
  `/hedge/deposits?chainId=8453&wallet=${lp}&order=asc`,
  '/hedge/positions?chainId=8453&limit=200&include=event,range,payout',
  `/hedge/positions?chainId=8453&wallet=${hedger},${secondHedger}&limit=7`,
  ...life.eventIds().map((id) => `/hedge/positions?chainId=8453&eventId=${id}&count=true`),
]

/** Portfolios, without the lag of the index. */
const portfolioPaths = (): string[] =>
  [creator, lp, hedger, secondHedger].flatMap((wallet) => [
    `/wallets/${wallet}/portfolio?chainId=8453`,
    `/wallets/${wallet}/portfolio?chainId=8453&state=all&include=event`,
  ])

const withoutLag = (data: unknown): unknown => {
  const { chains: _, ...rest } = Object(data)
  return Array.isArray(data) || typeof data !== 'object' ? data : rest
}

type Reading = { readonly path: string; readonly block: string; readonly time: string; readonly data: unknown }

const withAt = (path: string, at: string): string => `${path}${path.includes('?') ? '&' : '?'}at=${at}`

test(`records and lists as of a block equal what was read at it (seed ${seed})`, async () => {
  const readings: Reading[] = []
  await life.complete()
  for (let reading = 0; reading < READINGS; reading += 1) {
    await life.live(STEPS / READINGS)
    await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
    for (const path of [...recordPaths(), ...listPaths(), ...portfolioPaths()]) {
      const { status, data, headers } = await api.get(path)
      expect([path, status]).toEqual([path, 200])
      readings.push({ path, block: `${headers['x-block-number']}`, time: `${headers['x-block-timestamp']}`, data })
    }
    // Later blocks have a later time.
    await protocol.mineAt((await protocol.now()) + 1n)
  }
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
  expect(readings.length).toBeGreaterThan(READINGS)
  let fromNodes = 0
  for (const [nth, { path, block, time, data }] of readings.entries()) {
    const at = nth % 2 === 0 ? block : time
    const past = await api.get(withAt(path, at))
    expect([path, at, past.status, past.error, withoutLag(past.data)]).toEqual([
      ...[path, at, 200, undefined, withoutLag(data)],
    ])
    expect([path, past.headers['x-block-number']]).toEqual([path, block])
    fromNodes += past.headers['x-data-source'] === 'chain' ? 1 : 0
  }
  // Only a value that no log has: whether a pool took other LPs before that was changed for the first time.
  expect(fromNodes).toBeLessThan(readings.length / 5)
})

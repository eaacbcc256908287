import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startLife } from '../support/life.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { useProtocol } from '../support/use-protocol.ts'

/** Actions that are tried, and how many times everything is read meanwhile. */
const STEPS = byForm(100, 3_000)
const READINGS = byForm(4, 60)

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

/** The single records and lists of ids of everything that exists. */
const paths = (): string[] => [
  ...life
    .eventIds()
    .flatMap((id) => ['', '/stats', '/range', '/utilization'].map((of) => `/hedge/events/8453/${id}${of}`)),
  ...life.depositIds().flatMap((id) => ['', '/pending'].map((of) => `/hedge/deposits/8453/${id}${of}`)),
  ...life.positionIds().map((id) => `/hedge/positions/8453/${id}`),
]

type Reading = { readonly path: string; readonly block: string; readonly time: string; readonly data: unknown }

test(`records as of a block equal what was read from the chain at it (seed ${seed})`, async () => {
  const readings: Reading[] = []
  for (let reading = 0; reading < READINGS; reading += 1) {
    await life.live(STEPS / READINGS)
    for (const path of paths()) {
      const { status, data, headers } = await api.get(path)
      expect([path, status, headers['x-data-source']]).toEqual([path, 200, 'chain'])
      readings.push({ path, block: `${headers['x-block-number']}`, time: `${headers['x-block-timestamp']}`, data })
    }
    // Later blocks have a later time.
    await protocol.mineAt((await protocol.now()) + 1n)
  }
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
  expect(readings.length).toBeGreaterThan(READINGS)
  for (const [nth, { path, block, time, data }] of readings.entries()) {
    const at = nth % 2 === 0 ? block : time
    const past = await api.get(`${path}?at=${at}`)
    expect([path, at, past.status, past.error, past.data]).toEqual([path, at, 200, undefined, data])
    expect([past.headers['x-block-number'], past.headers['x-data-source']]).toEqual([block, 'database'])
  }
})

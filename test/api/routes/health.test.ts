import { expect, test } from 'vitest'
import { healthRoutes, statusRoutes } from '../../../src/api/routes/health.ts'
import { landingRoutes } from '../../../src/api/routes/landing.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import { blockAt } from '../../support/fake-changes.ts'
import { openRoutes } from './route-app.ts'

const healthy = {
  indexed: blockAt(50),
  heartbeat: { ageSeconds: 1, head: blockAt(52), proven: blockAt(50), problem: null, nodes: { halted: false } },
}

/** Two chains, the health of whose indexes a test sets. */
const openSources = () => {
  const health: Record<number, () => Promise<unknown>> = { 8453: async () => healthy, 56: async () => healthy }
  const calls: string[] = []
  const chainOf = (chainId: number) => ({
    deployment: { chainId, name: `chain ${chainId}`, startBlock: 0n },
    refresh: async () => void calls.push(`refresh ${chainId}`),
    status: () => {
      calls.push(`status ${chainId}`)
      return { endpoints: [{ height: null }] }
    },
  })
  const chains = new Map([8453, 56].map((chainId) => [chainId, chainOf(chainId)]))
  const sources = { chains, healthOf: (chainId: number) => health[chainId]?.(), maxLagSeconds: 5 }
  return { sources: sources as never, health, calls }
}

const openHealth = async () => {
  const { sources, health } = openSources()
  const draining = new AbortController()
  const app = await openRoutes((it) => it.register(healthRoutes, { sources, draining: draining.signal }))
  const ask = async (url: string) => {
    const { statusCode, body } = await app.inject(url)
    return [statusCode, JSON.parse(body).data ?? JSON.parse(body).error.message]
  }
  return { app, ask, health, draining }
}

test('a process is ready while the worker reaches every chain and no index lags', async () => {
  const { ask, health } = await openHealth()
  const chains = [8453, 56].map((chainId) => ({ chainId, indexedBlock: 50, lagSeconds: 2 }))
  expect(await ask('/readyz')).toEqual([200, { status: 'ok', chains }])
  health[56] = async () => ({ ...healthy, heartbeat: { ...healthy.heartbeat, head: blockAt(55) } })
  expect((await ask('/readyz'))[0]).toBe(200)
  health[56] = async () => ({ ...healthy, heartbeat: { ...healthy.heartbeat, head: blockAt(56) } })
  expect(await ask('/readyz')).toEqual([503, 'the index of chain 56 is 6 s behind'])
  health[56] = () => Promise.reject(unavailable('the database is out of reach'))
  expect(await ask('/readyz')).toEqual([503, 'the database is out of reach'])
  expect(await ask('/livez')).toEqual([200, { status: 'ok' }])
})

test('a process that is about to stop is alive and not ready', async () => {
  const { ask, draining } = await openHealth()
  draining.abort()
  expect(await ask('/readyz')).toEqual([503, 'this process is about to stop'])
  expect(await ask('/livez')).toEqual([200, { status: 'ok' }])
})

test('health endpoints have no limit', async () => {
  const { sources } = openSources()
  const unlimited: unknown[] = []
  await openRoutes(async (app) => {
    app.addHook('onRoute', ({ method, url, config }) => {
      if (method === 'GET') unlimited.push([url, config?.unlimited])
    })
    await app.register(healthRoutes, { sources, draining: new AbortController().signal })
  })
  expect(unlimited).toEqual([
    ['/livez', true],
    ['/readyz', true],
  ])
})

const openStatus = async (isLimitShared = true, endpoints: readonly object[] = []) => {
  const { sources, health, calls } = openSources()
  const state = { webhooks: async (): Promise<unknown> => Promise.reject(unavailable('the database is out of reach')) }
  for (const [chainId, chain] of Object(sources).chains)
    chain.status = () => {
      calls.push(`status ${chainId}`)
      return { endpoints }
    }
  const all = { ...Object(sources), checks: { of: () => [] }, webhooksHealth: () => state.webhooks() }
  const app = await openRoutes((it) => it.register(statusRoutes, { sources: all, isLimitShared: () => isLimitShared }))
  return { app, health, calls, state }
}

const openRow = (id: number, own: object = {}) => ({
  ...{ chainId: 8453, id, underlying: 'USD/GHS', strike: '12000000', payoutCap: '13500000', premiumRate: '23000' },
  ...{ initialRate: '11400000', strikeAbove: true, expiryDate: 1_800_000_000, symbol: 'USDC', decimals: 6 },
  utilization: { totalLiquidity: `${id}000000`, utilizationRate: '0' },
  ...own,
})

const feesOf = async () => ({ hedgerFeeRate: '5000' })

test('the landing page has no picture while the fees of the chain are out of reach', async () => {
  const { sources } = openSources()
  const openEvents = async () => [openRow(3)]
  const own = { sources, openEvents, feesOf: async () => undefined }
  const app = await openRoutes((it) => it.register(landingRoutes, own))
  const { statusCode, body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  expect([statusCode, body.includes('<figure')]).toEqual([200, false])
})

test('the picture of the landing page is of the fullest open pool of the chains that are ready', async () => {
  const { sources, health } = openSources()
  health[56] = () => Promise.reject(unavailable('chain 56 has a reason'))
  const asked: unknown[] = []
  const rows = [openRow(3), openRow(9, { decimals: 18 }), openRow(7), openRow(8, { decimals: null })]
  const openEvents = async (...given: unknown[]) => {
    asked.push(given)
    return rows
  }
  const page = async (explorer: boolean) => {
    const app = await openRoutes((it) => it.register(landingRoutes, { sources, openEvents, feesOf, explorer }))
    const read = () => app.inject({ url: '/', headers: { accept: 'text/html' } })
    await read()
    return (await read()).body
  }
  expect(await page(true)).toContain('<a href="explorer/event/8453/7">Event 7 on ')
  expect(await page(false)).toMatch(/<\/span> Event 7 on /)
  // The second visit of each page reads nothing.
  expect(asked).toEqual([
    [[8453], 20],
    [[8453], 20],
  ])
})

test('the landing page has no picture without an event and while the database is out of reach', async () => {
  const { sources } = openSources()
  const answers: (() => Promise<readonly Record<string, unknown>[]>)[] = [
    async () => [],
    () => Promise.reject(unavailable('the database is out of reach')),
    () => Promise.reject(new Error('a bug')),
  ]
  const seen = answers.map(async (openEvents) => {
    const app = await openRoutes((it) => it.register(landingRoutes, { sources, openEvents, feesOf }))
    const { statusCode, body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    return [statusCode, body.includes('<figure')]
  })
  expect(await Promise.all(seen)).toEqual([
    [200, false],
    [200, false],
    [500, false],
  ])
})

test('the status is a 503 when neither an index nor a node is known', async () => {
  const { app, health, calls } = await openStatus(true, [{ height: null }])
  for (const chainId of [8453, 56]) health[chainId] = () => Promise.reject(unavailable(`no database for ${chainId}`))
  const { statusCode, body } = await app.inject('/status')
  expect([statusCode, JSON.parse(body).error.message]).toEqual([503, 'no database for 8453'])
  // The nodes are asked before their state is reported.
  expect(calls.indexOf('refresh 8453')).toBeLessThan(calls.indexOf('status 8453'))
  expect(calls.indexOf('refresh 8453')).toBeGreaterThanOrEqual(0)
})

test.each([
  [undefined, 'application/json'],
  ['application/json, text/html', 'application/json'],
  ['text/html, application/json;q=0.9', 'text/html'],
])(
  'the landing page for a client that accepts %s is %s, with the reason of each chain that is not ready',
  async (accept, type) => {
    const { sources, health } = openSources()
    health[56] = () => Promise.reject(unavailable('chain 56 has a reason'))
    const app = await openRoutes((it) => it.register(landingRoutes, { sources, openEvents: async () => [], feesOf }))
    const { headers, body, statusCode } = await app.inject({ url: '/', headers: accept ? { accept } : {} })
    expect([statusCode, headers['content-type']]).toEqual([200, `${type}; charset=utf-8`])
    expect(body).toContain('chain 56 has a reason')
    expect(headers['content-security-policy'] !== undefined).toBe(type === 'text/html')
    if (type === 'application/json') {
      const { ready, chains } = JSON.parse(body).data
      expect([ready, chains.map((it: { problem: unknown }) => it.problem)]).toEqual([
        false,
        [null, 'chain 56 has a reason'],
      ])
    }
    health[56] = () => Promise.reject(new Error('a bug'))
    expect((await app.inject('/')).statusCode).toBe(500)
  },
)

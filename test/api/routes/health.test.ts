import { expect, test } from 'vitest'
import { healthRoutes, statusRoutes } from '../../../src/api/routes/health.ts'
import { landingRoutes } from '../../../src/api/routes/pages/landing.ts'
import { unavailable } from '../../../src/lib/errors.ts'
import { createMetrics } from '../../../src/lib/observe/metrics.ts'
import { createAvailability, showAvailability } from '../../../src/reads/health/availability.ts'
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
  const nodes: Record<number, readonly string[]> = {}
  const chainOf = (chainId: number) => ({
    deployment: { chainId, name: `chain ${chainId}`, startBlock: 0n },
    refresh: async () => void calls.push(`refresh ${chainId}`),
    status: () => {
      calls.push(`status ${chainId}`)
      return { endpoints: (nodes[chainId] ?? []).map((rank) => ({ rank, height: null })) }
    },
  })
  const chains = new Map([8453, 56].map((chainId) => [chainId, chainOf(chainId)]))
  const sources = { chains, healthOf: (chainId: number) => health[chainId]?.(), maxLagSeconds: 5 }
  return { sources: sources as never, health, calls, nodes }
}

const openHealth = async () => {
  const { sources, health, nodes, calls } = openSources()
  const draining = new AbortController()
  const availability = createAvailability(sources, { patienceMs: 50 })
  const metrics = createMetrics()
  showAvailability(metrics, availability)
  const app = await openRoutes((it) => it.register(healthRoutes, { availability, draining: draining.signal }))
  const ask = async (url: string) => {
    const { statusCode, body } = await app.inject(url)
    return [statusCode, JSON.parse(body).data ?? JSON.parse(body).error.message]
  }
  return { app, ask, health, draining, nodes, calls, metrics }
}

const chains = [8453, 56].map((chainId) => ({ chainId, indexedBlock: 50, lagSeconds: 2 }))
const lagging = async () => ({ ...healthy, heartbeat: { ...healthy.heartbeat, head: blockAt(56) } })
const outOfReach = () => Promise.reject(unavailable('the database is out of reach'))

test('a process is ready while the worker reaches every chain and no index lags', async () => {
  const { ask, health } = await openHealth()
  expect(await ask('/readyz')).toEqual([200, { status: 'ok', degraded: false, chains, problems: [] }])
  health[56] = async () => ({ ...healthy, heartbeat: { ...healthy.heartbeat, head: blockAt(55) } })
  expect((await ask('/readyz'))[1].degraded).toBe(false)
  health[56] = lagging
  expect(await ask('/readyz')).toEqual([
    200,
    { status: 'ok', degraded: true, chains: chains.slice(0, 1), problems: ['the index of chain 56 is 6 s behind'] },
  ])
})

test('a process is not ready before all of its indexes were', async () => {
  const { ask, health, nodes } = await openHealth()
  nodes[8453] = ['ok']
  health[56] = lagging
  expect(await ask('/readyz')).toEqual([503, 'the index of chain 56 is 6 s behind'])
  health[56] = async () => healthy
  expect((await ask('/readyz'))[0]).toBe(200)
  health[56] = lagging
  expect((await ask('/readyz'))[0]).toBe(200)
})

test('without an index, a process that was ready is degraded while a node answers, and unavailable without one', async () => {
  const { ask, health, nodes, calls, metrics } = await openHealth()
  const shown = async () => (await metrics.metrics()).match(/(?<=fx_availability\{state=")\w+(?="\} 1)/)?.[0]
  await ask('/readyz')
  expect([calls, await shown()]).toEqual([[], 'ok'])
  health[8453] = outOfReach
  health[56] = () => new Promise(() => {})
  const problems = ['the database is out of reach', 'the database has not answered for 0.05 s']
  expect(await ask('/readyz')).toEqual([503, problems.join('; ')])
  expect(await shown()).toBe('unavailable')
  for (const rank of ['unknown', 'paused', 'stale']) {
    nodes[56] = [rank]
    expect((await ask('/readyz'))[0]).toBe(503)
  }
  nodes[56] = ['paused', 'ok']
  expect(await ask('/readyz')).toEqual([200, { status: 'ok', degraded: true, chains: [], problems }])
  expect([calls.slice(0, 2), await shown()]).toEqual([['refresh 8453', 'refresh 56'], 'degraded'])
})

test('an index that lags serves its lists, also without a node', async () => {
  const { ask, health, calls } = await openHealth()
  await ask('/readyz')
  health[8453] = outOfReach
  health[56] = lagging
  const problems = ['the database is out of reach', 'the index of chain 56 is 6 s behind']
  expect(await ask('/readyz')).toEqual([200, { status: 'ok', degraded: true, chains: [], problems }])
  expect(calls).toEqual([])
})

test('a fault of the program is no problem of the index', async () => {
  const { ask, health } = await openHealth()
  health[56] = () => Promise.reject(new TypeError('no'))
  expect((await ask('/readyz'))[0]).toBe(500)
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
    const availability = createAvailability(sources)
    await app.register(healthRoutes, { availability, draining: new AbortController().signal })
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

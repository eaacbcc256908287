import { expect, test } from 'vitest'
import { seriesRoutes } from '../../../src/api/routes/series.ts'
import { fakeTurns, openCache, openRoutes } from './route-app.ts'

const now = Math.floor(Date.now() / 1_000)
/** The newest block of an index that is an hour behind: it is final. */
const tip = { number: 1_000n, hash: `0x${'1'.repeat(64)}`, timestamp: BigInt(now - 3_600) } as const

const before = { ...tip, number: 999n, timestamp: tip.timestamp - 5n }

/** The headers of the totals of the protocol, read from an index whose worker saw a head `lag` seconds later. */
const headersOf = async (to: string, lag: number) => {
  const heartbeat = { head: { number: 2_000n, timestamp: tip.timestamp + BigInt(lag) }, isQuiet: false, ageSeconds: 1 }
  const app = await openRoutes(async (it) => {
    const { cache } = await openCache(it)
    const sources = {
      maxLagSeconds: 60,
      chains: new Map([[8453, { head: async () => heartbeat.head }]]),
      queries: { reached: async () => ({ chainId: 8453, block: tip, heartbeat }) },
      history: { around: async () => ({ tip, before, after: null }) },
      lists: { totals: { daysUpTo: async () => [] } },
      finality: { isFinal: async (_: number, at: number) => at <= Number(tip.timestamp) },
    }
    const options = { turns: fakeTurns().turns, cache, waits: {}, csv: {}, sources }
    await it.register(seriesRoutes, { prefix: '/v1', ...options } as never)
  })
  const { statusCode, headers } = await app.inject(`/v1/series?chainId=8453${to}`)
  return [statusCode, headers['cache-control'], headers['x-index-lag'], headers['x-stale']]
}

const KEPT = 'public, max-age=31536000, immutable'

test('a series is kept for ever only when it ends in the past, and is stale when it ends at a present that lags', async () => {
  expect(await headersOf(`&to=${before.timestamp}`, 3_600)).toEqual([200, KEPT, undefined, undefined])
  // The index may not have all blocks of the second of its newest one.
  for (const to of ['', ...[Number(tip.timestamp), now - 1, now + 86_400].map((time) => `&to=${time}`)]) {
    expect(await headersOf(to, 3_600)).toEqual([200, expect.not.stringContaining('immutable'), '3600', '1'])
    expect(await headersOf(to, 60)).toEqual([200, expect.not.stringContaining('immutable'), '60', undefined])
  }
})

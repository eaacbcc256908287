import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { chainOf } from '../../src/reads/read.ts'
import { createRandom } from '../../src/sandbox/story/random.ts'
import { openApp } from '../support/app.ts'
import { csvRows } from '../support/csv.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startLife } from '../support/life.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { useProtocol } from '../support/use-protocol.ts'

const STEPS = byForm(80, 1_000)
/** Points of a series that are compared with the state at them. */
const POINTS = byForm(4, 40)

const profile = inject('profile')
const protocol = await useProtocol(profile)
const random = createRandom(seed)
const life = startLife(protocol, random)
const { creator, lp, hedger } = protocol

let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  store = await createTestDatabase()
  const nodes = [{ url: protocol.url, deployment: protocol.deployment }]
  api = await openApp({ nodes, databaseUrl: store.url, headMaxAgeMs: 0 })
  await life.live(STEPS)
  // A block of a later time than the last log.
  await protocol.mineAt((await protocol.now()) + 1n)
  await indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database })
})
afterAll(async () => {
  await api?.close()
  await store?.close()
})

const Point = z.looseObject({ time: z.number(), token: z.string() })
type Point = z.output<typeof Point>

const seriesOf = async (path: string): Promise<readonly Point[]> => {
  const answer = await api.get(path)
  expect([path, answer.status, answer.error]).toEqual([path, 200, undefined])
  return z.array(Point).parse(answer.data)
}

/** Some of the points, always with the last one. */
const some = (points: readonly Point[]): readonly Point[] => [
  ...points.slice(-1),
  ...(points.length === 0 ? [] : Array.from({ length: POINTS }, () => random.pick(points))),
]

const dataAt = async (path: string, time: number): Promise<Record<string, unknown>> => {
  const answer = await api.get(`${path}${path.includes('?') ? '&' : '?'}at=${time}`)
  expect([path, time, answer.status, answer.error]).toEqual([path, time, 200, undefined])
  return Object(answer.data)
}

test(`points of events equal their stats at the time, and the last one those of now (seed ${seed})`, async () => {
  const seen = new Set<string>()
  for (const id of life.eventIds())
    for (const interval of ['day', 'hour', 'week', 'change']) {
      const path = `/hedge/events/8453/${id}`
      const points = await seriesOf(`${path}/series?interval=${interval}`)
      for (const point of some(points)) {
        const stats = await dataAt(`${path}/stats`, point.time)
        const { utilizationRate } = await dataAt(`${path}/utilization`, point.time)
        seen.add(`${interval} ${point.payouts !== '0'}`)
        expect({ id, interval, ...point }).toMatchObject({
          ...{ liquidity: stats.totalLiquidity, exposure: stats.totalExposure, maxPayout: stats.totalMaxPayout },
          ...{ premiums: stats.totalPremiums, creatorEarnings: stats.creatorEarnings, utilization: utilizationRate },
          ...{ deposits: stats.lpCount, positions: stats.hedgerCount },
        })
      }
      const { totalLiquidity, totalPremiums } = Object((await api.get(`${path}/stats`)).data)
      expect(points.at(-1)).toMatchObject({ liquidity: totalLiquidity, premiums: totalPremiums })
      const times = points.map(({ time }) => time)
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b))
    }
  expect(seen.size).toBeGreaterThanOrEqual(4)
})

test('points of deposits equal the deposit at the time', async () => {
  for (const id of life.depositIds())
    for (const point of some(await seriesOf(`/hedge/deposits/8453/${id}/series?interval=hour`))) {
      const { premiumsEarned, premiumsClaimed, withdrawn, amount } = await dataAt(
        `/hedge/deposits/8453/${id}`,
        point.time,
      )
      expect(point).toMatchObject({ premiumsEarned, premiumsClaimed, deposited: withdrawn ? '0' : amount })
      expect(point.claimable).toBe((BigInt(`${premiumsEarned}`) - BigInt(`${premiumsClaimed}`)).toString())
    }
})

test('points of wallets equal the totals of their portfolios at the time', async () => {
  for (const wallet of [creator, lp, hedger]) {
    const points = await seriesOf(`/wallets/${wallet}/series?chainId=8453`)
    expect(points.length).toBeGreaterThan(0)
    for (const { time, token, chainId, symbol, decimals, ...figures } of some(points)) {
      const { totals } = await dataAt(`/wallets/${wallet}/portfolio?chainId=8453&state=all`, time)
      const own = z
        .array(Point.omit({ time: true }))
        .parse(totals)
        .find((it) => it.token === token)
      const expected = own ?? Object.fromEntries(Object.keys(figures).map((name) => [name, '0']))
      expect([wallet, time, figures]).toEqual([wallet, time, expect.objectContaining({})])
      expect(expected).toMatchObject(figures)
    }
  }
})

test('a series has the selected figures between two moments, as JSON and as CSV', async () => {
  const [id = 1n] = life.eventIds()
  const path = `/hedge/events/8453/${id}/series`
  const all = await seriesOf(`${path}?interval=hour`)
  const [from, to] = [all[1]?.time ?? 0, all.at(-2)?.time ?? 0]
  const some = await api.get(`${path}?interval=hour&metric=premiums,liquidity&from=${from}&to=${to}`)
  expect(some.meta).toMatchObject({ interval: 'hour', from, points: all.length - 2 })
  expect(some.data).toEqual(
    all.slice(1, -1).map(({ chainId, token, symbol, decimals, time, premiums, liquidity }) => ({
      ...{ chainId, token, symbol, decimals, time, liquidity, premiums },
    })),
  )
  const csv = await api.app.inject(`/v1${path}?interval=hour&metric=premiums&format=csv`)
  const rows = csvRows(csv.payload)
  expect(rows.map((row) => row.premiums)).toEqual(all.map(({ premiums }) => premiums))
  expect(Object.keys(rows[0] ?? {})).toEqual([
    ...['chainId', 'token', 'symbol', 'decimals', 'time', 'timeIso', 'premiums', 'premiumsUnits', 'nextCursor'],
  ])
})

test('bad input is refused by name, and what does not exist is not found', async () => {
  const [id = 1n] = life.eventIds()
  const refused = async (path: string) => {
    const { status, error } = await api.get(path)
    return [status, error?.code, error?.message]
  }
  expect(await refused(`/hedge/events/8453/${id}/series?metric=wealth`)).toEqual([
    400,
    'validation_error',
    expect.stringContaining('metric'),
  ])
  expect(await refused(`/hedge/events/8453/${id}/series?interval=minute`)).toEqual([
    400,
    'validation_error',
    expect.stringContaining('interval'),
  ])
  expect(await refused(`/hedge/events/8453/${id}/series?interval=hour&from=1000000000`)).toEqual([
    200,
    undefined,
    undefined,
  ])
  expect(await refused(`/hedge/events/8453/99999/series`)).toEqual([
    404,
    'not_found',
    'event 99999 does not exist on chain 8453',
  ])
  expect(await refused(`/hedge/deposits/8453/99999/series`)).toEqual([
    404,
    'not_found',
    'deposit 99999 does not exist on chain 8453',
  ])
  expect((await refused(`/hedge/events/8453/${id}/series?to=99999999999`))[0]).toBe(503)
  expect(await refused(`/wallets/${hedger}/series?chainId=8453,56&to=10`)).toEqual([
    400,
    'validation_error',
    expect.stringContaining('to'),
  ])
})

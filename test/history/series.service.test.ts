import { sql } from 'drizzle-orm'
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

/** Random actions after two whole lives of events. */
const STEPS = byForm(30, 1_000)
/** Points of a series that are compared with the state at them. */
const POINTS = byForm(2, 40)
/** Events whose series are compared. */
const EVENTS = byForm(2, 1_000)

const profile = inject('profile')
const protocol = await useProtocol(profile)
const random = createRandom(seed)
const life = startLife(protocol, random)
const { creator, lp, hedger } = protocol

/** An event without a first deposit. */
let unseeded = 0n
/** The first moment of series by the hour, which have a limited number of points. */
let since = 0n
let store: TestDatabase
let api: Awaited<ReturnType<typeof openApp>>

beforeAll(async () => {
  store = await createTestDatabase()
  const nodes = [{ url: protocol.url, deployment: protocol.deployment }]
  api = await openApp({ nodes, databaseUrl: store.url, headMaxAgeMs: 0 })
  // Before the lives, which can pause the protocol.
  unseeded = await protocol.create({ initialLiquidity: 0n, expiryDate: (await protocol.now()) + 86_400n })
  await protocol.mineAt((await protocol.now()) + 5_000n)
  await protocol.send(creator, 'setPoolSettings', [unseeded, true, true])
  // At points between the two lives the entities of the second one do not exist.
  for (let nth = 0; nth < 2; nth += 1) await life.complete({ recovers: false })
  await life.live(STEPS)
  // A block some days after the last log.
  await protocol.mineAt((await protocol.now()) + 3n * 86_400n)
  since = (await protocol.now()) - 300n * 86_400n
  // As many blocks as the node takes to report the ones before as final.
  for (let nth = 0; nth < 65; nth += 1) await protocol.mineAt((await protocol.now()) + 1n)
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
  for (const id of life.eventIds().slice(0, EVENTS))
    for (const interval of ['day', 'hour', 'week', 'change']) {
      const path = `/hedge/events/8453/${id}`
      const points = await seriesOf(`${path}/series?interval=${interval}&from=${since}`)
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

test('what a deposit earned since the point before adds up to all that it earned', async () => {
  let seen = 0
  for (const id of life.depositIds().slice(0, 4 * EVENTS)) {
    let sum = 0n
    for (const { earned, premiumsEarned } of await seriesOf(`/hedge/deposits/8453/${id}/series?interval=change`)) {
      sum += BigInt(`${earned}`)
      expect(sum).toBe(BigInt(`${premiumsEarned}`))
      if (earned !== '0') seen += 1
    }
  }
  expect(seen).toBeGreaterThan(1)
})

test('points of deposits equal the deposit at the time', async () => {
  for (const id of life.depositIds().slice(0, 4 * EVENTS))
    for (const point of some(await seriesOf(`/hedge/deposits/8453/${id}/series?interval=hour&from=${since}`))) {
      const { premiumsEarned, premiumsClaimed, withdrawn, amount } = await dataAt(
        `/hedge/deposits/8453/${id}`,
        point.time,
      )
      expect(point).toMatchObject({ premiumsEarned, premiumsClaimed, deposited: withdrawn ? '0' : amount })
      expect(point.claimable).toBe((BigInt(`${premiumsEarned}`) - BigInt(`${premiumsClaimed}`)).toString())
    }
})

test('points of wallets equal the totals of their portfolios at the time', async () => {
  let seen = 0
  for (const wallet of [creator, lp, hedger]) {
    const points = await seriesOf(`/wallets/${wallet}/series?chainId=8453&from=${since}`)
    seen += points.length
    // Most points are between the lives.
    for (const { time, token, chainId, symbol, decimals, ...figures } of [...some(points), ...some(points)]) {
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
  expect(seen).toBeGreaterThan(0)
})

test('before a withdrawal a deposit is valued at what the withdrawal pays, and at most its capital', async () => {
  const rows = z.array(z.looseObject({ depositId: z.number(), blockNumber: z.number(), amount: z.string() }))
  const withdrawals = rows.parse((await api.get('/activity?chainId=8453&type=capital.withdrawn&limit=200')).data)
  for (const { depositId, blockNumber, amount } of withdrawals) {
    const path = `/hedge/deposits?chainId=8453&ids=${depositId}&include=valuation,event`
    const [before] = Object(await dataAt(path, blockNumber - 1))
    const [after] = Object(await dataAt(path, blockNumber))
    // It may have been settled in the block before, or in the same one.
    if (before.event.settledAt > 0) expect([depositId, before.valuation.capital]).toEqual([depositId, amount])
    expect(BigInt(before.valuation.atRisk) + BigInt(before.valuation.capital)).toBe(BigInt(before.amount))
    expect(after.valuation).toMatchObject({ capital: '0', atRisk: '0', total: after.valuation.claimable })
  }
  expect(withdrawals.length).toBeGreaterThan(0)
})

test('the yield of a deposit is what it earned for its capital and its time', async () => {
  const now = await protocol.now()
  let dated = 0
  for (const row of Object((await api.get('/hedge/deposits?chainId=8453&limit=200&include=valuation,event')).data)) {
    const { premiumsEarned, premiumsClaimed, amount, createdAt, valuation, event } = row
    const earned = BigInt(premiumsEarned)
    const age = BigInt(event.settledAt > 0 ? event.settledAt : now) - BigInt(createdAt)
    expect(valuation.claimable).toBe((earned - BigInt(premiumsClaimed)).toString())
    expect(valuation.yield).toBe(((earned * 10n ** 6n) / BigInt(amount)).toString())
    // The event is valued at the block of its observation, which may be that of the deposit.
    if (age === 0n || (event.settledAt === 0 && valuation.yieldPerYear === null)) {
      expect(valuation.yieldPerYear).toBeNull()
      continue
    }
    dated += 1
    const perYear = (earned * 10n ** 6n * 31_536_000n) / (BigInt(amount) * age)
    expect(BigInt(valuation.yieldPerYear)).toBeGreaterThanOrEqual(perYear)
    if (event.settledAt > 0) expect(valuation.yieldPerYear).toBe(perYear.toString())
  }
  expect(dated).toBeGreaterThan(0)
})

test('a series has the selected figures between two moments, as JSON and as CSV', async () => {
  const [id = 1n] = life.eventIds()
  const path = `/hedge/events/8453/${id}/series`
  const all = await seriesOf(`${path}?interval=hour&from=${since}`)
  const [from, to] = [all[1]?.time ?? 0, all.at(-2)?.time ?? 0]
  const some = await api.get(`${path}?interval=hour&metric=premiums,liquidity&from=${from}&to=${to}`)
  expect(some.meta).toMatchObject({ interval: 'hour', from, points: all.length - 2 })
  expect(some.data).toEqual(
    all.slice(1, -1).map(({ chainId, token, symbol, decimals, time, premiums, liquidity }) => ({
      ...{ chainId, token, symbol, decimals, time, liquidity, premiums },
    })),
  )
  const csv = await api.app.inject(`/v1${path}?interval=hour&metric=premiums&format=csv&from=${since}`)
  const rows = csvRows(csv.payload)
  expect(rows.map((row) => row.premiums)).toEqual(all.map(({ premiums }) => premiums))
  expect(Object.keys(rows[0] ?? {})).toEqual([
    ...['chainId', 'token', 'symbol', 'decimals', 'time', 'timeIso', 'premiums', 'premiumsUnits', 'nextCursor'],
  ])
})

test('a series by changes begins with the creation', async () => {
  for (const id of [unseeded, ...life.eventIds().slice(0, EVENTS)]) {
    const points = await seriesOf(`/hedge/events/8453/${id}/series?interval=change`)
    const [first, second] = points
    const until = await seriesOf(`/hedge/events/8453/${id}/series?interval=change&to=${second?.time}`)
    expect(until).toEqual(points.slice(0, 2))
    const [created] = Object((await api.get(`/hedge/events?chainId=8453&ids=${id}`)).data)
    expect(first?.time).toBe(created.createdAt)
  }
})

test('a series to a time that is not before the newest block ends with it', async () => {
  const [id] = life.eventIds()
  for (const path of [
    `/hedge/events/8453/${id}/series?`,
    '/series?chainId=8453&',
    `/wallets/${lp}/series?chainId=8453&`,
  ])
    for (const to of [await protocol.now(), 99_999_999_999n])
      expect(await seriesOf(`${path}interval=week&to=${to}`)).toEqual(await seriesOf(`${path}interval=week`))
})

test('totals from before the first log begin with its day', async () => {
  expect(await seriesOf('/series?chainId=8453&from=1000000000')).toEqual(await seriesOf('/series?chainId=8453'))
})

test('a series with a figure that is not known yet is not kept for ever', async () => {
  const [id] = life.eventIds()
  const all = await seriesOf(`/hedge/events/8453/${id}/series?interval=change`)
  const path = `/v1/hedge/events/8453/${id}/series?interval=change&to=${all[1]?.time}`
  const read = async (metric: string) => {
    const { headers, payload } = await api.app.inject(`${path}&metric=${metric}`)
    const figures: unknown[] = JSON.parse(payload).data.map((point: Point) => point[metric])
    return { isKept: String(headers['cache-control']).includes('immutable'), isKnown: !figures.includes(null) }
  }
  expect(await read('creatorEarnings')).toEqual({ isKept: true, isKnown: true })
  const forget = sql`UPDATE cursors SET fees_number = NULL`
  const restore = sql`UPDATE cursors SET fees_number = block_number`
  await api.database.run((handle) => handle.execute(forget))
  expect(await read('creatorEarnings')).toEqual({ isKept: false, isKnown: false })
  expect(await read('liquidity')).toEqual({ isKept: true, isKnown: true })
  await api.database.run((handle) => handle.execute(restore))
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
  expect(await refused(`/hedge/events/8453/${id}/series?interval=day&from=1000000000`)).toEqual([
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
  for (const path of [`/hedge/events/8453/${id}/series`, '/series', `/wallets/${hedger}/series`])
    expect(
      (await refused(`${path}?chainId=8453&from=99999999999`.replace(/(events.*)chainId=8453&/, '$1'))).slice(0, 2),
    ).toEqual([...[400, 'validation_error']])
  expect(await refused(`/wallets/${hedger}/series?chainId=8453,56&to=10`)).toEqual([
    400,
    'validation_error',
    expect.stringContaining('to'),
  ])
})

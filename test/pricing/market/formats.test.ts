import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseLastObservation, parseSeries } from '../../../src/pricing/market/formats.ts'
import { pairName } from '../../../src/pricing/pair.ts'

const recorded = (file: string) => readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8')
const table = (text: string, name = 'file.csv') =>
  Object.fromEntries(parseSeries(text, name).map(({ pair, closes }) => [pairName(pair), closes]))

describe('formats of rates', () => {
  test('ECB reference rates are converted to dollar rates with the same day’s fixing', () => {
    const rates = table(recorded('eurofxref-hist.csv'))
    expect(Object.keys(rates)).toEqual(['EUR/USD', 'USD/JPY', 'USD/GBP', 'USD/RUB', 'USD/ZAR'])
    expect(rates['EUR/USD']?.[0]).toEqual({ date: '2024-11-29', close: 1.0562 })
    expect(rates['USD/JPY']?.[1]).toEqual({ date: '2024-11-28', close: 160.12 / 1.0555 })
    expect(rates['USD/RUB']).toEqual([])
  })

  test('FRED series keep their direction and omit days without a rate', () => {
    const rates = table(recorded('DEXUSEU.csv'))
    expect(rates['EUR/USD']?.map(({ date }) => date)).toEqual(['2024-11-25', '2024-11-26', '2024-11-27', '2024-11-29'])
    const several = table('DATE,DEXJPUS,DEXUSUK\n2024-11-29,150.41,1.2699\n2024-12-02,.,1.2650\n')
    expect(several).toEqual({
      'USD/JPY': [{ date: '2024-11-29', close: 150.41 }],
      'GBP/USD': [
        { date: '2024-11-29', close: 1.2699 },
        { date: '2024-12-02', close: 1.265 },
      ],
    })
  })

  test('an operator’s file takes its pair from its name or from its rows', () => {
    const closes = [
      { date: '2026-11-19', close: 11.38 },
      { date: '2026-11-20', close: 11.4 },
    ]
    expect(table('\uFEFFdate,close\r\n2026-11-19,11.38\r\n2026-11-20, 11.40\r\n', 'USD-GHS.csv')).toEqual({
      'USD/GHS': closes,
    })
    const mixed = 'pair,date,close\nUSD/GHS,2026-11-19,11.38\nUSD/NGN,2026-11-19,1452\nUSD/GHS,2026-11-20,11.40\n'
    expect(table(mixed)).toEqual({ 'USD/GHS': closes, 'USD/NGN': [{ date: '2026-11-19', close: 1452 }] })
  })

  test.each([
    ['of an unknown format', 'time,price\n1,2', 'rates.csv', 'time,price'],
    ['that is empty', '', 'rates.csv', 'no known format'],
    ['that is not named after a pair', 'date,close\n2026-11-19,1', 'rates.csv', 'pair'],
    ['with a date of another kind', 'date,close\n19/11/2026,1', 'USD-GHS.csv', '19/11/2026'],
    ['with a number of another kind', 'date,close\n2026-11-19,"1,5"', 'USD-GHS.csv', 'number'],
    ['with a number in hex', 'date,close\n2026-11-19,0x10', 'USD-GHS.csv', '0x10'],
    ['with half a pair', 'pair,date,close\nGHS,2026-11-19,1', 'rates.csv', 'GHS'],
  ])('a file %s is rejected with its name and the reason', (_, text, name, reason) => {
    expect(() => parseSeries(text, name)).toThrow(name)
    expect(() => parseSeries(text, name)).toThrow(reason)
  })
})

describe('limits of a file', () => {
  const refusalOf = (text: string): string => {
    try {
      parseSeries(text, 'rates.csv')
    } catch (fault) {
      if (fault instanceof Error) return fault.message
    }
    throw new Error('the file was accepted')
  }

  test('a file with a million rows is rejected with the limit', () => {
    expect(refusalOf(`date,close\n${'2026-11-19,1\n'.repeat(1_000_000)}`)).toMatch(/more than 300000 lines/)
  })

  test('a file with a thousand columns is rejected with the limit', () => {
    expect(refusalOf(`Date,USD,${'X,'.repeat(1_000)}\n2026-11-19,1\n`)).toMatch(/more than 200 columns/)
  })

  test('a file with more cells than the limit is rejected with the limit', () => {
    const row = `2026-11-19${',1'.repeat(100)}\n`
    expect(refusalOf(`Date,USD${',X'.repeat(99)}\n${row.repeat(30_000)}`)).toMatch(/more than 2000000 cells/)
  })

  test.each([
    ['header', `time,${'x'.repeat(1_000_000)}\n1,2`],
    ['date', `observation_date,DEXUSEU\n${'x'.repeat(1_000_000)},1`],
    ['number', `observation_date,DEXUSEU\n2026-11-19,${'x'.repeat(1_000_000)}`],
    ['pair', `pair,date,close\n${'x'.repeat(1_000_000)},2026-11-19,1`],
  ])('a file is rejected without repeating a %s of a million characters', (_, text) => {
    expect(refusalOf(text).length).toBeLessThan(300)
  })

  test('a file with 50,000 pairs is read in linear time', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
    const codes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)))
    const rows = Array.from({ length: 50_000 }, (_, at) => {
      const quote = codes[1 + (at % 17_000)]
      return `${codes[at < 17_000 ? 0 : 17_000 + Math.floor(at / 17_000)]}/${quote},2026-11-19,1`
    })
    const begun = performance.now()
    expect(parseSeries(`pair,date,close\n${rows.join('\n')}`, 'rates.csv')).toHaveLength(50_000)
    expect(performance.now() - begun).toBeLessThan(5_000)
  })
})

test('the newest observation is the last row with a value', () => {
  expect(parseLastObservation(recorded('DTB3.csv'), 'DTB3', '2026-11-20')).toEqual({ date: '2024-11-29', value: 4.37 })
  expect(() => parseLastObservation('observation_date,DTB3\n2024-11-29,.\n', 'DTB3', '2026-11-20')).toThrow(
    'at least one observation',
  )
  expect(() => parseLastObservation('<html></html>', 'DTB3', '2026-11-20')).toThrow('DTB3')
})

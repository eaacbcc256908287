import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseLastObservation, parseSeries } from '../../../src/pricing/market/formats.ts'
import { pairName } from '../../../src/pricing/pair.ts'

const recorded = (file: string) => readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8')
const table = (text: string, name = 'file.csv') =>
  Object.fromEntries(parseSeries(text, name).map(({ pair, closes }) => [pairName(pair), closes]))

describe('a file of rates', () => {
  test('of the ECB becomes rates of the dollar by the same day’s fixing', () => {
    const rates = table(recorded('eurofxref-hist.csv'))
    expect(Object.keys(rates)).toEqual(['EUR/USD', 'USD/JPY', 'USD/GBP', 'USD/RUB', 'USD/ZAR'])
    expect(rates['EUR/USD']?.[0]).toEqual({ date: '2024-11-29', close: 1.0562 })
    expect(rates['USD/JPY']?.[1]).toEqual({ date: '2024-11-28', close: 160.12 / 1.0555 })
    expect(rates['USD/RUB']).toEqual([])
  })

  test('of FRED is quoted as its series is, without the days it leaves out', () => {
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

  test('of an operator is of the pair in its name or in its rows', () => {
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
    ['named after no pair', 'date,close\n2026-11-19,1', 'rates.csv', 'pair'],
    ['with a date of another kind', 'date,close\n19/11/2026,1', 'USD-GHS.csv', '19/11/2026'],
    ['with a number of another kind', 'date,close\n2026-11-19,"1,5"', 'USD-GHS.csv', 'number'],
    ['with a number in hex', 'date,close\n2026-11-19,0x10', 'USD-GHS.csv', '0x10'],
    ['with half a pair', 'pair,date,close\nGHS,2026-11-19,1', 'rates.csv', 'GHS'],
  ])('%s is refused by name and reason', (_, text, name, reason) => {
    expect(() => parseSeries(text, name)).toThrow(name)
    expect(() => parseSeries(text, name)).toThrow(reason)
  })
})

test('the newest observation is the last with a value', () => {
  expect(parseLastObservation(recorded('DTB3.csv'), 'DTB3')).toEqual({ date: '2024-11-29', value: 4.37 })
  expect(() => parseLastObservation('observation_date,DTB3\n2024-11-29,.\n', 'DTB3')).toThrow('no observation')
  expect(() => parseLastObservation('<html></html>', 'DTB3')).toThrow('DTB3')
})

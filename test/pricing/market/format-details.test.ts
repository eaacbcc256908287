import { describe, expect, test, vi } from 'vitest'
import { parseLastObservation, parseSeries } from '../../../src/pricing/market/formats.ts'

const closesIn = (text: string, name = 'USD-GHS.csv') => parseSeries(text, name)[0]?.closes

describe('a file of rates', () => {
  test.each([
    ['a mark of its byte order', '\uFEFFdate,close\n2026-11-20,11\n'],
    ['lines of blanks', 'date,close\n  \n2026-11-20,11\n \n'],
    ['days without a rate', 'date,close\n2026-11-17,\n2026-11-18,.\n2026-11-19,N/A\n2026-11-19,ND\n2026-11-20,11\n'],
  ])('may have %s', (_, text) => {
    expect(closesIn(text)).toEqual([{ date: '2026-11-20', close: 11 }])
  })

  test.each(['2026-11-20x', '20.11.2026', '2026-02-31', '2026-99-99', ''])('with the date %j is rejected', (date) => {
    expect(() => closesIn(`date,close\n${date},11\n`)).toThrow('is not a date')
  })

  test('has a name that begins with two codes and no further letters', () => {
    const text = 'date,close\n2026-11-20,11\n'
    expect([closesIn(text, 'USDGHS.csv')?.length, closesIn(text, 'USD_GHS2.csv')?.length]).toEqual([1, 1])
    expect(() => closesIn(text, 'USD-GHSX.csv')).toThrow('is not a pair')
  })

  test('has at most 200 columns', () => {
    const withColumns = (count: number) => `date,close\n2026-11-20,11${',1'.repeat(count - 2)}\n`
    expect(closesIn(withColumns(200))).toHaveLength(1)
    expect(() => closesIn(withColumns(201))).toThrow('more than 200 columns')
  })

  test('has at most 300,000 lines and 2,000,000 cells', () => {
    const refusalOf = (text: string): string => {
      try {
        closesIn(text)
        return ''
      } catch (fault) {
        return String(fault)
      }
    }
    const withLines = (count: number) => `date,close\n2026-11-20,11${'\n'.repeat(count - 2)}`
    expect(closesIn(withLines(300_000))).toHaveLength(1)
    expect(refusalOf(withLines(300_001))).toContain('more than 300000 lines')
    const row = `2026-11-20,11${',1'.repeat(198)}\n`
    const withCells = (rest: string) => `date,close${',x'.repeat(198)}\n${row.repeat(9_999)}${rest}`
    expect(refusalOf(withCells(''))).not.toContain('cells')
    expect(refusalOf(withCells('1'))).toContain('more than 2000000 cells')
  })

  test('of the ECB has the dollar in any column', () => {
    expect(parseSeries('Date,JPY,USD,\n2026-11-20,165,1.1,\n', 'ecb').map(({ pair }) => pair.quote)).toEqual([
      'USD',
      'JPY',
    ])
  })

  test('of many columns has each date checked once', () => {
    const parse = vi.spyOn(Date, 'parse')
    const rows = '2026-11-20,1.1,165,0.87,1.6\n2026-11-19,1.1,165,0.87,1.6\n'
    expect(parseSeries(`Date,USD,JPY,GBP,CAD\n${rows}`, 'ecb')).toHaveLength(4)
    expect(parse).toHaveBeenCalledTimes(2)
    parse.mockRestore()
  })

  test('of one observation has one up to today, and later ones are ignored', () => {
    const text = 'observation_date,DTB3\n2026-11-21,5\n2026-11-20,4\n2026-11-19,3\n2026-11-22,6\n'
    expect(parseLastObservation(text, 'rate', '2026-11-20')).toEqual({ date: '2026-11-20', value: 4 })
    expect(parseLastObservation(text, 'rate', '2026-11-21')).toEqual({ date: '2026-11-21', value: 5 })
    expect(() => parseLastObservation(text, 'rate', '2026-11-18')).toThrow('at least one observation up to today')
  })

  test('of one observation has one series', () => {
    expect(parseLastObservation('observation_date,DTB3\n2026-11-20,4\n', 'rate', '2026-11-20')).toEqual({
      date: '2026-11-20',
      value: 4,
    })
    const two = 'observation_date,DTB3,DTB6\n2026-11-20,4,5\n'
    expect(() => parseLastObservation(two, 'rate', '2026-11-20')).toThrow('single series')
  })
})

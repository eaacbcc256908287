import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { closesOf, hasEnoughCloses, usableCloses } from '../../../src/pricing/market/series.ts'
import { parsePair } from '../../../src/pricing/pair.ts'

/** Weekdays from Monday 2024-01-01 on. */
const weekdays = (count: number): string[] => {
  const days: string[] = []
  for (let time = Date.UTC(2024, 0, 1); days.length < count; time += 86_400_000) {
    const date = new Date(time)
    if (date.getUTCDay() % 6 !== 0) days.push(date.toISOString().slice(0, 10))
  }
  return days
}
const today = '2030-01-01'
const flat = (count: number, close = 10) => weekdays(count).map((date) => ({ date, close }))

describe('usable closes', () => {
  test('usable closes are oldest first, in whichever order they were published', () => {
    const closes = weekdays(5).map((date, i) => ({ date, close: 10 + i }))
    expect(usableCloses(closes.toReversed(), today)).toEqual(closes)
  })

  test('usable closes are on weekdays, positive, one a day, and not in the future', () => {
    const [monday, tuesday, wednesday, thursday] = weekdays(4)
    const closes = [
      { date: monday ?? '', close: 10 },
      { date: tuesday ?? '', close: 0 },
      { date: tuesday ?? '', close: Number.NaN },
      { date: wednesday ?? '', close: 10.1 },
      { date: wednesday ?? '', close: 10.2 },
      { date: thursday ?? '', close: 10.3 },
      { date: '2024-01-06', close: 10.4 },
      { date: '2024-01-07', close: 10.5 },
      { date: '2024-13-01', close: 10.6 },
    ]
    expect(usableCloses(closes, '2024-01-03').map(({ close }) => close)).toEqual([10, 10.1])
    expect(usableCloses(closes, today).map(({ close }) => close)).toEqual([10, 10.1, 10.3])
  })

  test('usable closes do not jump by a factor of e', () => {
    const closes = flat(6).map((close, i) => (i === 2 ? { ...close, close: 27.19 } : close))
    expect(usableCloses(closes, today)).toHaveLength(5)
    closes[2] = { date: closes[2]?.date ?? '', close: 27.17 }
    expect(usableCloses(closes, today)).toHaveLength(6)
  })

  test('usable closes start at the newest lasting level', () => {
    const of = (...rates: number[]) => {
      const days = weekdays(rates.length)
      return usableCloses(
        rates.map((close, i) => ({ date: days[i] ?? '', close })),
        today,
      ).map(({ close }) => close)
    }
    expect(of(1_000, 10, 10.1, 10.2)).toEqual([10, 10.1, 10.2])
    expect(of(11_400, 11_500, 11.4, 11.5, 11.6)).toEqual([11.4, 11.5, 11.6])
    // Errors that do not agree with each other, or have a good close between them, are not a new level.
    expect(of(10, 1_000, 0.1, 10.1, 1_000, 10.2, 1_000)).toEqual([10, 10.1, 10.2])
  })

  test('usable closes do not start at a jump that only a close of the same day confirms', () => {
    const [monday = '', tuesday = '', wednesday = ''] = weekdays(3)
    const closes = [
      { date: monday, close: 10 },
      { date: tuesday, close: 1_000 },
      { date: tuesday, close: 1_001 },
      { date: wednesday, close: 10.1 },
    ]
    expect(usableCloses(closes, today).map(({ close }) => close)).toEqual([10, 10.1])
  })

  test('usable closes cover at most three years of trading', () => {
    expect(usableCloses(flat(1_000), today)).toEqual(flat(1_000).slice(-756))
  })
})

test('a history needs 30 closes in the 90 days up to its newest', () => {
  expect(hasEnoughCloses(flat(29))).toBe(false)
  expect(hasEnoughCloses(flat(30))).toBe(true)
  const monthly = flat(400).filter((_, i) => i % 20 === 0)
  expect(hasEnoughCloses(monthly)).toBe(false)
  expect(hasEnoughCloses(flat(400).filter((_, i) => i % 2 === 0))).toBe(true)
  expect(hasEnoughCloses([])).toBe(false)
})

describe('closes of a pair', () => {
  const table = new Map([
    ['EUR/USD', flat(40, 1.25)],
    ['USD/JPY', flat(40, 150).slice(0, 38)],
    ['GBP/EUR', flat(40, 1.2)],
  ])
  const of = (name: string) => {
    const pair = parsePair(name)
    return pair && closesOf(table, pair)
  }

  test('closes of a pair are as published, inverted, or crossed through the dollar', () => {
    expect(of('EUR/USD')?.at(-1)?.close).toBe(1.25)
    expect(of('USD/EUR')?.at(-1)?.close).toBe(0.8)
    expect(of('EUR/JPY')?.at(-1)?.close).toBeCloseTo(187.5, 12)
    expect(of('JPY/EUR')?.at(-1)?.close).toBeCloseTo(1 / 187.5, 15)
    expect(of('EUR/GBP')?.at(-1)?.close).toBeCloseTo(1 / 1.2, 15)
    // Neither leg is in dollars.
    expect(of('GBP/JPY')).toBeUndefined()
    expect(of('USD/GHS')).toBeUndefined()
  })

  test('closes of a cross are on the days that both legs have', () => {
    expect(of('EUR/JPY')).toHaveLength(38)
  })

  test('the product of a pair’s and its inverse’s closes is one', () => {
    const rate = fc.double({ min: 1e-3, max: 1e5, noNaN: true })
    fc.assert(
      fc.property(rate, rate, (eur, jpy) => {
        const both = new Map([
          ['EUR/USD', flat(1, eur)],
          ['USD/JPY', flat(1, jpy)],
        ])
        const there = closesOf(both, { base: 'EUR', quote: 'JPY' })?.[0]?.close ?? 0
        const back = closesOf(both, { base: 'JPY', quote: 'EUR' })?.[0]?.close ?? 0
        expect(there * back).toBeCloseTo(1, 14)
        expect(there / (eur * jpy)).toBeCloseTo(1, 14)
      }),
    )
  })
})

test.each(['usd/ghs', 'USDGHS', 'USD/USD', 'USD/GHSX', ' USD/GHS', 'USD/GHS\n', 'USD-GHS', ''])(
  '%j is not a pair',
  (text) => {
    expect(parsePair(text)).toBeUndefined()
  },
)

test('a first close of 0 is left out', () => {
  const [first = '', second = ''] = weekdays(2)
  const closes = [
    { date: first, close: 0 },
    { date: second, close: 10 },
  ]
  expect(usableCloses(closes, today)).toEqual([{ date: second, close: 10 }])
})

test.each([
  [30, 29, true],
  [29, 29, false],
  [30, 89, true],
  [30, 90, false],
])('%i closes, the oldest %i days before the newest, are enough: %s', (count, apart, enough) => {
  const dayAt = (days: number): string => new Date(Date.UTC(2024, 0, 1 + days)).toISOString().slice(0, 10)
  const later = Array.from({ length: count - 1 }, (_, at) => ({ date: dayAt(apart - count + 2 + at), close: 10 }))
  expect(hasEnoughCloses([{ date: dayAt(0), close: 10 }, ...later])).toBe(enough)
})

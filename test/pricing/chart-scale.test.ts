import { describe, expect, test } from 'vitest'
import { amountText, around, linear, rateText, tickText } from '../../src/pricing/chart/scale.ts'

describe('a scale', () => {
  test('maps its domain to its range, in either direction', () => {
    const up = linear([10, 20], [0, 100])
    expect([10, 12.5, 20, 30].map(up.at)).toEqual([0, 25, 100, 200])
    const down = linear([20, 10], [0, 100])
    expect([20, 17.5, 10].map(down.at)).toEqual([0, 25, 100])
  })

  test.each([
    [[0, 10], 5, [0, 2, 4, 6, 8, 10]],
    [[10, 0], 5, [0, 2, 4, 6, 8, 10]],
    [[1, 9], 4, [2, 4, 6, 8]],
    [[0, 1], 4, [0, 0.25, 0.5, 0.75, 1]],
    [[-3, 3], 3, [-2, 0, 2]],
  ] as const)('%j has the ticks %j, about %i, inside its domain', (domain, count, ticks) => {
    expect(linear([...domain], [0, 1]).ticks(count)).toEqual(ticks)
  })

  test('around values is wider than they are, by a share of their distance on each side', () => {
    expect(around([3, 1, 2], 0.5, 2)).toEqual([0, 7])
    expect(around([3, 1, 2], 0.5)).toEqual([0, 4])
  })
})

const written: readonly (readonly [(value: number) => string, Readonly<Record<string, number>>])[] = [
  [amountText, { '0.00': 0, '0.5': 0.5, '−0.00123': -0.001234, '1.00': 1, '−2,000.00': -2_000 }],
  [tickText, { '999,999': 999_999, '1M': 1e6, '2.5M': 2.5e6, '−1M': -1e6, '0.25': 0.25 }],
  [rateText, { 12: 12, '0.000123': 0.0001234, 0: -0 }],
]

test.each(written)('numbers are written for readers: %o %o', (write, cases) => {
  for (const [text, value] of Object.entries(cases)) expect(write(value)).toBe(text)
})

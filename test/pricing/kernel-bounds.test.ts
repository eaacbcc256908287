import { describe, expect, it } from 'vitest'
import { jumpOptionPrice, seriesHolds } from '../../src/pricing/kernel/jumps.ts'
import { optionPrice, strikeOrNothing } from '../../src/pricing/kernel/option.ts'
import { digitalPrice, spreadPrice } from '../../src/pricing/kernel/spread.ts'

const none = { lambda: 0, jumpMean: 0, jumpStd: 0 }
const some = { lambda: 1, jumpMean: 0.1, jumpStd: 0.1 }
const range = { spot: 10, years: 1, sigma: 0.1, r: 0.05, q: 0.05 }
const call = { ...range, type: 'call' as const, strike: 10 }

describe('the bounds of prices', () => {
  it.each([0.05, 0, -0.05])('a range far in the money is worth its width, discounted at %d', (r) => {
    const width = 2 * Math.exp(-r)
    for (const jumps of [none, some]) {
      const up = spreadPrice({ ...range, r, q: r, spot: 1e4, strike: 10, payoutCap: 12 }, jumps)
      expect(up).toBeLessThanOrEqual(width)
      expect(up).toBeCloseTo(width, 9)
      const down = spreadPrice({ ...range, r, q: r, spot: 0.01, strike: 12, payoutCap: 10 }, jumps)
      expect(down).toBeLessThanOrEqual(width)
      expect(down).toBeCloseTo(width, 9)
    }
  })

  it.each([
    ['call', 1e4],
    ['put', 0.01],
  ] as const)('a %s of 1 that is certain is worth 1, discounted at the rate of the payment', (type, spot) => {
    const price = digitalPrice({ ...range, type, spot, strike: 10, q: 0.3 }, none)
    expect(price).toBeLessThanOrEqual(Math.exp(-0.05))
    expect(price).toBeCloseTo(Math.exp(-0.05), 12)
  })

  it.each([
    ['call', 10, 10],
    ['call', 9.99, 0],
    ['put', 10, 10],
    ['put', 10.01, 0],
  ] as const)('without volatility, a %s pays its strike at a rate of %d: %d', (type, spot, paid) => {
    expect(optionPrice({ ...call, type, spot, sigma: 0, r: 0, q: 0 }, strikeOrNothing)).toBe(paid)
    expect(optionPrice({ ...call, type, spot, years: 0 }, strikeOrNothing)).toBe(paid)
  })
})

describe('numbers outside the range of an option or a jump', () => {
  it.each([
    { spot: 0 },
    { spot: -1 },
    { spot: Number.NaN },
    { strike: 0 },
    { strike: Number.POSITIVE_INFINITY },
    { years: -1 },
    { sigma: -0.1 },
    { r: Number.NaN },
    { q: Number.POSITIVE_INFINITY },
  ])('%j are refused', (changes) => {
    expect(() => optionPrice({ ...call, ...changes })).toThrow(RangeError)
    expect(() => jumpOptionPrice({ ...call, ...changes }, some)).toThrow(RangeError)
  })

  it.each([
    { lambda: -1 },
    { lambda: Number.NaN },
    { jumpMean: Number.NaN },
    { jumpStd: -0.1 },
    { jumpStd: Number.POSITIVE_INFINITY },
  ])('jumps with %j are refused', (changes) => {
    expect(() => jumpOptionPrice(call, { ...some, ...changes })).toThrow('jumps need')
  })

  it('volatility, time and deviations of 0 are valid', () => {
    expect(optionPrice({ ...call, spot: 12, sigma: 0, r: 0, q: 0 })).toBe(2)
    for (const jumps of [{ lambda: 1e9 }, { jumpMean: 1e3 }])
      expect(jumpOptionPrice({ ...call, spot: 12, years: 0 }, { ...some, ...jumps })).toBe(2)
    expect(jumpOptionPrice(call, { ...some, jumpStd: 0 })).toBeGreaterThan(0)
  })

  it('a range without width is refused', () => {
    expect(() => spreadPrice({ ...range, strike: 10, payoutCap: 10 }, none)).toThrow('differs from its strike')
  })
})

describe('the jump series', () => {
  it.each([
    [18, 0, true],
    [18.01, 0, false],
    [18, 0.01, false],
    [18, -0.5, true],
    [10, 1, false],
  ])('with %d jumps a year of a mean of %d holds a year: %s', (lambda, jumpMean, holds) => {
    const jumps = { lambda, jumpMean, jumpStd: 0 }
    expect([seriesHolds(jumps, 1), seriesHolds({ ...jumps, lambda: lambda / 2 }, 2)]).toEqual([holds, holds])
    if (!holds) expect(() => jumpOptionPrice(call, jumps)).toThrow('horizon too long')
    else expect(jumpOptionPrice(call, jumps)).toBeGreaterThan(0)
  })

  it('keeps the forward at the limit of the series', () => {
    const jumps = { lambda: 18, jumpMean: 0, jumpStd: 0 }
    const forward = { ...call, strike: 1e-9, r: 0, q: 0, sigma: 0.1 }
    expect(jumpOptionPrice(forward, jumps)).toBeCloseTo(10 - 1e-9, 7)
  })
})

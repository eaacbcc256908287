import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jumpOptionPrice, seriesHolds } from '../../src/pricing/kernel/jumps.ts'
import { erfc, normalCdf } from '../../src/pricing/kernel/normal.ts'
import { type Option, optionPrice } from '../../src/pricing/kernel/option.ts'
import { spreadPrice } from '../../src/pricing/kernel/spread.ts'
import { publicVectors } from './vectors.ts'

const forwardOf = ({ spot, r, q, years }: Omit<Option, 'type'>) => spot * Math.exp((r - q) * years)
const scaleOf = (option: Omit<Option, 'type'>) => Math.max(option.spot, option.strike, forwardOf(option))

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true })
/** A rate of any magnitude that a currency pair can have. */
const rate = number(-5, 4).map((exponent) => 10 ** exponent)
const market = fc
  .record({
    spot: rate,
    distance: number(-1, 1),
    years: number(0, 2),
    sigma: number(0, 1.5),
    r: number(-0.05, 0.5),
    q: number(-0.5, 0.6),
  })
  .map(({ distance, ...rest }) => ({ ...rest, strike: rest.spot * Math.exp(distance) }))
const jumps = fc.record({ lambda: number(0, 6), jumpMean: number(-0.3, 0.3), jumpStd: number(0, 0.3) })
const spread = fc.tuple(market, number(0.01, 1), fc.boolean()).map(([range, width, up]) => ({
  ...range,
  payoutCap: range.strike * Math.exp(up ? width : -width),
}))

describe('the normal distribution', () => {
  // 40-digit values, rounded to doubles.
  test.each([
    [0, 0.5],
    [-0.3, 0.3820885778110474],
    [0.6, 0.7257468822499265],
    [1, 0.8413447460685429],
    [-1, 0.15865525393145705],
    [-2.5, 0.006209665325776135],
    [-5.5, 1.8989562465887718e-8],
    [-6, 9.86587645037698e-10],
    [-10, 7.619853024160525e-24],
    [-37, 5.725571222524577e-300],
  ])('N(%d) is %d', (x, expected) => {
    expect(Math.abs(normalCdf(x) / expected - 1)).toBeLessThan(1e-13)
  })

  test('the two tails of the normal distribution sum to one, and the distribution rises', () => {
    fc.assert(
      fc.property(number(-40, 40), number(0, 5), (x, step) => {
        expect(Math.abs(normalCdf(x) + normalCdf(-x) - 1)).toBeLessThanOrEqual(2 ** -52)
        expect(normalCdf(x + step)).toBeGreaterThanOrEqual(normalCdf(x) * (1 - 1e-14))
      }),
    )
  })

  test('the normal distribution of infinite arguments is 0 or 1', () => {
    expect([normalCdf(-Infinity), normalCdf(Infinity), erfc(0)]).toEqual([0, 1, 1])
  })
})

describe('the public vectors', () => {
  const within = (option: Omit<Option, 'type'>, price: number) => 1e-12 * scaleOf(option) + 1e-10 * price

  test.each(publicVectors.gk.cases)('the plain option equals the public vector $id', ({ T, vol, price, ...rest }) => {
    const option = { ...rest, years: T, sigma: vol }
    expect(Math.abs(optionPrice(option) - price)).toBeLessThanOrEqual(within(option, price))
  })

  test.each(publicVectors.merton.cases)(
    'the option with jumps equals the public vector $id',
    ({ T, vol, price, ...rest }) => {
      const option = { ...rest, years: T, sigma: vol }
      expect(Math.abs(jumpOptionPrice(option, rest) - price)).toBeLessThanOrEqual(within(option, price))
    },
  )

  test('the plain option equals the value of the literature (Haug): 0.0291', () => {
    const call = { type: 'call', spot: 1.56, strike: 1.6, years: 0.5, sigma: 0.12, r: 0.06, q: 0.08 } as const
    expect(optionPrice(call)).toBeCloseTo(0.0290993, 7)
  })
})

describe('options', () => {
  test('call less put is the discounted forward less strike, with and without jumps', () => {
    fc.assert(
      fc.property(market, jumps, (option, jump) => {
        const parity = Math.exp(-option.r * option.years) * (forwardOf(option) - option.strike)
        const within = 1e-9 * scaleOf(option)
        const plain = optionPrice({ ...option, type: 'call' }) - optionPrice({ ...option, type: 'put' })
        expect(Math.abs(plain - parity)).toBeLessThanOrEqual(1e-13 * scaleOf(option) * Math.exp(0.1))
        const jumpy =
          jumpOptionPrice({ ...option, type: 'call' }, jump) - jumpOptionPrice({ ...option, type: 'put' }, jump)
        expect(Math.abs(jumpy - parity)).toBeLessThanOrEqual(within)
      }),
    )
  })

  test('an option without jumps, or without time for them, equals the plain option to the last bit', () => {
    fc.assert(
      fc.property(market, jumps, fc.constantFrom('call' as const, 'put' as const), (option, jump, type) => {
        expect(jumpOptionPrice({ ...option, type }, { ...jump, lambda: 0 })).toBe(optionPrice({ ...option, type }))
        expect(jumpOptionPrice({ ...option, type, years: 0 }, jump)).toBe(optionPrice({ ...option, type, years: 0 }))
      }),
    )
  })

  test('jumps of size zero change the price by rounding only', () => {
    fc.assert(
      fc.property(market, number(0, 6), (option, lambda) => {
        const call = { ...option, type: 'call' } as const
        const still = jumpOptionPrice(call, { lambda, jumpMean: 0, jumpStd: 0 })
        expect(Math.abs(still - optionPrice(call))).toBeLessThanOrEqual(1e-9 * scaleOf(option))
      }),
    )
  })

  test('an option is worth at least its discounted intrinsic value and less than its maximum payout', () => {
    fc.assert(
      fc.property(market, jumps, (option, jump) => {
        const discount = Math.exp(-option.r * option.years)
        const slack = 1e-9 * scaleOf(option)
        const call = jumpOptionPrice({ ...option, type: 'call' }, jump)
        expect(call).toBeGreaterThanOrEqual(Math.max(0, discount * (forwardOf(option) - option.strike)) - slack)
        expect(call).toBeLessThanOrEqual(discount * forwardOf(option) + slack)
      }),
    )
  })

  test('an option is worth more with more volatility', () => {
    fc.assert(
      fc.property(market, jumps, number(0, 0.5), (option, jump, more) => {
        const call = { ...option, type: 'call' } as const
        const wider = jumpOptionPrice({ ...call, sigma: call.sigma + more }, jump)
        expect(wider).toBeGreaterThanOrEqual(jumpOptionPrice(call, jump) - 1e-12 * scaleOf(option))
      }),
    )
  })

  test('an option without volatility pays the forward’s intrinsic value', () => {
    const option = { type: 'put', spot: 10, strike: 12, years: 1, sigma: 0, r: 0.05, q: 0.02 } as const
    expect(optionPrice(option)).toBeCloseTo(Math.exp(-0.05) * (12 - 10 * Math.exp(0.03)), 14)
    expect(optionPrice({ ...option, type: 'call' })).toBe(0)
    expect(optionPrice({ ...option, years: 0, sigma: 0.3 })).toBe(2)
  })

  test.each([
    ['a strike of 0', { strike: 0 }],
    ['a spot that is not a number', { spot: Number.NaN }],
    ['a time before now', { years: -0.1 }],
    ['a negative volatility', { sigma: -0.1 }],
    ['an infinite rate', { r: Infinity }],
  ])('an option is rejected for %s', (_, fault) => {
    const option = { type: 'call', spot: 1, strike: 1, years: 1, sigma: 0.1, r: 0, q: 0, ...fault } as const
    expect(() => optionPrice(option)).toThrow(RangeError)
    expect(() => jumpOptionPrice(option, { lambda: 1, jumpMean: 0, jumpStd: 0.1 })).toThrow(RangeError)
  })
})

describe('the jump series', () => {
  const call = { type: 'call', spot: 10, strike: 8, years: 1, sigma: 0.1, r: 0.03, q: 0.01 } as const

  test('an option is rejected from the horizon on at which 50 terms no longer hold the distribution', () => {
    expect(() => jumpOptionPrice(call, { lambda: 18.001, jumpMean: 0, jumpStd: 0 })).toThrow('horizon too long')
    expect(jumpOptionPrice(call, { lambda: 18, jumpMean: 0, jumpStd: 0 })).toBeCloseTo(optionPrice(call), 6)
    // Upward jumps have more weight with the rate as numeraire.
    expect(seriesHolds({ lambda: 10, jumpMean: 0.6, jumpStd: 0 }, 1)).toBe(false)
    expect(seriesHolds({ lambda: 10, jumpMean: -0.6, jumpStd: 0 }, 1)).toBe(true)
  })

  test('the series stays finite where the forward of a late term overflows', () => {
    const price = jumpOptionPrice(call, { lambda: 1e-7, jumpMean: 16, jumpStd: 0 })
    expect(price).toBeGreaterThan(0)
    expect(price).toBeLessThanOrEqual(call.spot)
  })

  test.each([{ lambda: -1 }, { jumpStd: -0.1 }, { jumpMean: Number.NaN }, { lambda: Infinity }])(
    'jumps are rejected for %o',
    (fault) => {
      expect(() => jumpOptionPrice(call, { lambda: 1, jumpMean: 0, jumpStd: 0.1, ...fault })).toThrow(RangeError)
    },
  )
})

describe('spreads', () => {
  test('a spread is worth between 0 and its discounted width', () => {
    fc.assert(
      fc.property(spread, jumps, (range, jump) => {
        const price = spreadPrice(range, jump)
        expect(price).toBeGreaterThanOrEqual(0)
        expect(price).toBeLessThanOrEqual(Math.exp(-range.r * range.years) * Math.abs(range.payoutCap - range.strike))
      }),
    )
  })

  test('an upward spread and the mirrored downward spread together pay the whole width', () => {
    fc.assert(
      fc.property(spread, jumps, (range, jump) => {
        const mirror = { ...range, strike: range.payoutCap, payoutCap: range.strike }
        const width = Math.exp(-range.r * range.years) * Math.abs(range.payoutCap - range.strike)
        const both = spreadPrice(range, jump) + spreadPrice(mirror, jump)
        expect(Math.abs(both - width)).toBeLessThanOrEqual(1e-9 * Math.max(scaleOf(range), scaleOf(mirror)))
      }),
    )
  })

  test('a spread is worth more the further its cap is', () => {
    fc.assert(
      fc.property(spread, jumps, number(0, 1), (range, jump, more) => {
        const further = range.payoutCap * Math.exp(range.payoutCap > range.strike ? more : -more)
        const wider = spreadPrice({ ...range, payoutCap: further }, jump)
        expect(wider).toBeGreaterThanOrEqual(spreadPrice(range, jump) - 1e-12 * Math.max(scaleOf(range), further))
      }),
    )
  })

  test('the spread of the specification’s market has the worked price', () => {
    const range = { spot: 11.4, strike: 12, payoutCap: 13.5, years: 90 / 365, r: 0.0425, q: -0.1375 }
    const sigma = 0.15399950494384307
    const price = spreadPrice({ ...range, sigma }, { lambda: 0.75, jumpMean: 0.1, jumpStd: 0.1 })
    expect(price).toBeCloseTo(0.31147032704900574, 13)
    expect(spreadPrice({ ...range, sigma }, { lambda: 0, jumpMean: 0.1, jumpStd: 0.1 }) / 11.4).toBeCloseTo(
      0.02638476639890095,
      14,
    )
  })

  test('a spread needs a cap that differs from its strike', () => {
    const range = { spot: 1, strike: 1, payoutCap: 1, years: 1, sigma: 0.1, r: 0, q: 0 }
    expect(() => spreadPrice(range, { lambda: 0, jumpMean: 0, jumpStd: 0 })).toThrow(RangeError)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  amountsDown,
  fromSix,
  isWithinLeverage,
  isWithinPayout,
  premiumRateRound,
  sixRound,
  snapRate,
  widthOf,
} from '../../src/pricing/quotes/premium.ts'
import { payoff } from '../../src/protocol/payoff.ts'

const cedi = { initialRate: 11_400_000n, strike: 12_000_000n, payoutCap: 13_500_000n }
const millionths = fc.bigInt({ min: 1n, max: 10n ** 12n })
const range = fc
  .record({ initialRate: millionths, strike: millionths, payoutCap: millionths })
  .filter(({ strike, payoutCap }) => strike !== payoutCap)

describe('millionths', () => {
  test('millionths are rounded half up', () => {
    expect([1.0000004, 1.0000005, 1.0000015, 0.0000005, 0].map(sixRound)).toEqual([
      1_000_000n,
      1_000_001n,
      1_000_002n,
      1n,
      0n,
    ])
    expect(() => sixRound(Number.NaN)).toThrow(RangeError)
  })

  test('converting millionths to a number and back gives the same millionths', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (units) => {
        expect(sixRound(fromSix(units))).toBe(units)
      }),
    )
  })

  test('a rate is stored when rounding changes it by at most 1e-4, and otherwise rejected', () => {
    expect(snapRate(11.4)).toBe(11_400_000n)
    expect(snapRate(1 / 150)).toBe(6_667n)
    expect(snapRate(1 / 16_000)).toBeUndefined()
    expect(snapRate(0.005001)).toBe(5_001n)
    expect(snapRate(0.0000001)).toBeUndefined()
  })
})

describe('the amounts of a quote', () => {
  test('the amounts of the worked example are the worked numbers', () => {
    expect(premiumRateRound(0.31147032704900574, cedi)).toBe(27_322n)
    expect(amountsDown(cedi, 27_322n, 10_000n * 10n ** 6n)).toEqual({
      premium: 273_220_000n,
      maxPayout: 1_315_789_473n,
    })
  })

  test('the largest payout equals the protocol’s payout at and beyond the cap', () => {
    fc.assert(
      fc.property(range, millionths, (any, notional) => {
        const event = { ...any, strikeAbove: any.payoutCap > any.strike }
        const { maxPayout } = amountsDown(any, 1n, notional)
        expect(maxPayout).toBe(payoff(event, any.payoutCap, notional))
        expect(maxPayout).toBe(payoff(event, event.strikeAbove ? any.payoutCap + 1n : any.payoutCap, notional))
        expect(widthOf(any)).toBeGreaterThan(0n)
      }),
    )
  })

  test('leverage of exactly 100 is accepted and any more is rejected, for every notional', () => {
    const hundred = { initialRate: 10_000_000n, strike: 10_000_000n, payoutCap: 11_000_000n }
    expect(isWithinLeverage(hundred, 1_000n)).toBe(true)
    expect(isWithinLeverage(hundred, 999n)).toBe(false)
    expect(isWithinLeverage({ ...hundred, payoutCap: 11_000_001n }, 1_000n)).toBe(false)
    expect(isWithinLeverage(hundred, 0n)).toBe(false)
  })

  test('a premium of exactly the largest payout is accepted, and any more is rejected', () => {
    const tenth = { initialRate: 10_000_000n, strike: 10_000_000n, payoutCap: 11_000_000n }
    expect(isWithinPayout(tenth, 100_000n)).toBe(true)
    expect(isWithinPayout(tenth, 100_001n)).toBe(false)
    expect(isWithinPayout({ ...tenth, payoutCap: 10_999_999n }, 100_000n)).toBe(false)
  })
})

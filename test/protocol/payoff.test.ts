import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_UINT256 } from '../../src/lib/fixed.ts'
import { largestNotional, payoff, payoffOverflows, width, worstCasePayout } from '../../src/protocol/payoff.ts'

// The worked example of the money equations: 11.40 spot, 12.00 strike, 13.50 cap, upward.
const cedi = { strike: 12_000_000n, payoutCap: 13_500_000n, initialRate: 11_400_000n, strikeAbove: true }

describe('payoff', () => {
  test.each([
    [11_999_999n, 10_000n * 10n ** 6n, 0n],
    [12_000_000n, 10_000n * 10n ** 6n, 0n],
    [12_000_001n, 10_000n * 10n ** 6n, 877n],
    [12_000_001n, 10_000n * 10n ** 18n, 877_192_982_456_140n],
    [12_500_000n, 10_000n * 10n ** 6n, 438_596_491n],
    [12_500_000n, 10_000n * 10n ** 18n, 438_596_491_228_070_175_438n],
    [13_500_000n, 10_000n * 10n ** 6n, 1_315_789_473n],
    [99_000_000n, 10_000n * 10n ** 18n, 1_315_789_473_684_210_526_315n],
  ])('at a rate of %i a notional of %i pays %i', (settlement, notional, payout) => {
    expect(payoff(cedi, settlement, notional)).toBe(payout)
  })

  test('the payoff of a downward event mirrors that of an upward event', () => {
    const down = { strike: 10_000_000n, payoutCap: 8_000_000n, initialRate: 11_000_000n, strikeAbove: false }
    expect(payoff(down, 10_000_001n, 1_000_000n)).toBe(0n)
    expect(payoff(down, 9_000_000n, 1_100_000n)).toBe(100_000n)
    expect(payoff(down, 1n, 1_100_000n)).toBe(200_000n)
  })

  test('a single-strike event pays the whole distance from its strike on, or nothing', () => {
    const single = { ...cedi, payoutCap: 0n }
    expect(payoff(single, 11_999_999n, 11_400_000n)).toBe(0n)
    expect(payoff(single, 12_000_000n, 11_400_000n)).toBe(600_000n)
    expect(payoff(single, 20_000_000n, 11_400_000n)).toBe(600_000n)
    const down = { strike: 10_000_000n, payoutCap: 0n, initialRate: 11_000_000n, strikeAbove: false }
    expect(payoff(down, 10_000_000n, 11_000_000n)).toBe(1_000_000n)
    expect(payoff(down, 10_000_001n, 11_000_000n)).toBe(0n)
  })

  test('an event without a settlement rate pays nothing', () => {
    expect(payoff({ ...cedi, strikeAbove: false, payoutCap: 8_000_000n }, 0n, 1_000_000n)).toBe(0n)
  })
})

test('the largest notional fits the free liquidity, and one unit more does not', () => {
  const rate = fc.bigInt({ min: 1n, max: 10n ** 9n })
  fc.assert(
    fc.property(rate, rate, rate, fc.bigInt({ min: 0n, max: 10n ** 27n }), (strike, gap, initialRate, free) => {
      const range = { strike, payoutCap: strike + gap, initialRate, strikeAbove: true }
      const most = largestNotional(range, free)
      expect(payoff(range, range.payoutCap, most)).toBeLessThanOrEqual(free)
      expect(payoff(range, range.payoutCap, most + 1n)).toBeGreaterThan(free)
    }),
  )
})

describe('the width of the payout zone', () => {
  test.each([
    [cedi, 1_500_000n],
    [{ ...cedi, payoutCap: 8_000_000n, strikeAbove: false }, 4_000_000n],
    [{ ...cedi, payoutCap: 0n }, 600_000n],
    [{ ...cedi, payoutCap: 0n, strike: 10_000_000n, strikeAbove: false }, 1_400_000n],
  ])('is a distance, whichever rate is the greater (case %#)', (range, distance) => {
    expect(width(range)).toBe(distance)
    expect(worstCasePayout(range, range.initialRate)).toBe(distance)
    expect(worstCasePayout(range, range.initialRate - 1n)).toBe(distance - 1n)
  })

  test('of 0 limits no notional', () => {
    expect(largestNotional({ ...cedi, strike: 11_400_000n, payoutCap: 0n }, 5n)).toBe(MAX_UINT256)
  })
})

test('a payout overflows when the product of notional and move exceeds a uint256', () => {
  const unit = { strike: 10n, payoutCap: 100n, initialRate: 10n, strikeAbove: true }
  expect([MAX_UINT256 / 2n, MAX_UINT256 / 2n + 1n].map((notional) => payoffOverflows(unit, 12n, notional))).toEqual([
    ...[false, true],
  ])
  expect(payoffOverflows(unit, 11n, MAX_UINT256)).toBe(false)
  expect(payoffOverflows(unit, 0n, MAX_UINT256)).toBe(false)
  expect(payoffOverflows({ ...unit, payoutCap: 1n, strikeAbove: false }, 0n, MAX_UINT256)).toBe(false)
})

import { expect, test } from 'vitest'
import { calibrate } from '../../src/pricing/calibrate/calibrate.ts'
import { estimateJumps, splitReturns } from '../../src/pricing/calibrate/jumps.ts'
import { jumpOptionPrice } from '../../src/pricing/kernel/jumps.ts'
import { type Option, optionPrice, strikeOrNothing } from '../../src/pricing/kernel/option.ts'

const tier = {
  garch: { alpha: 0.07, beta: 0.9, sigmaLongRun: 0.3 },
  jumps: { lambda: 1, jumpMean: 0.1, jumpStd: 0.1 },
}

/** Returns of 1 % in clusters: long quiet and long lively stretches, of alternating signs. */
const clustered = (count: number): number[] =>
  Array.from({ length: count }, (_, at) => (at % 2 ? 1 : -1) * (Math.floor(at / 25) % 2 ? 0.004 : 0.01))

test.each([
  [119, 'tier'],
  [120, 'sample'],
  [249, 'sample'],
  [250, 'fit'],
] as const)('%i returns are calibrated from: %s', (count, from) => {
  const { garch, garchFrom } = calibrate(clustered(count), tier)
  expect(garchFrom).toBe(from)
  if (from === 'tier') expect(garch).toEqual(tier.garch)
  if (from === 'sample') expect([garch.alpha, garch.beta]).toEqual([0.07, 0.9])
})

test('the long-run volatility of a history is annual, by its trading days', () => {
  const even = Array.from({ length: 200 }, (_, at) => (at % 2 ? 0.01 : -0.01))
  expect(calibrate(even, tier).garch.sigmaLongRun).toBeCloseTo(0.01 * Math.sqrt(252), 12)
})

test('returns without clusters are not fitted: a constant variance is as likely', () => {
  const even = Array.from({ length: 400 }, (_, at) => (at % 2 ? 0.01 : -0.01))
  expect(calibrate(even, tier).garchFrom).toBe('sample')
})

test('the first return with 60 before it can be a jump, and earlier ones cannot', () => {
  const withJumpAt = (at: number) => splitReturns(Array.from({ length: 70 }, (_, day) => (day === at ? 1 : 0.01)))
  expect([withJumpAt(59).jumps, withJumpAt(60).jumps]).toEqual([[], [1]])
})

test('a return is a jump above four deviations of the local volatility, and one deviation takes its place', () => {
  // Neighbours of 1 % have a deviation of 1 % * sqrt(pi / 2).
  const limit = 4 * 0.01 * Math.sqrt(Math.PI / 2)
  const split = (last: number) => splitReturns([...Array.from({ length: 60 }, () => 0.01), last])
  expect(split(limit * 0.999).jumps).toEqual([])
  expect(split(limit * 1.001).jumps).toEqual([limit * 1.001])
  expect(split(-limit * 1.001).diffusive.at(-1)).toBeCloseTo(-limit / 4, 12)
})

test.each([
  [499, undefined],
  [
    500,
    {
      lambda: (3 + 1.5) / (440 / 252 + 1),
      jumpMean: (3 * 0.2 + 1.5 * 0.01) / 4.5,
      jumpStd: (3 * 0.1 + 1.5 * 0.025) / 4.5,
    },
  ],
])('%i returns have jump parameters of their own: %j', (count, expected) => {
  const found = estimateJumps(
    { jumps: [0.1, 0.2, 0.3], classified: count - 60 },
    { lambda: 1.5, jumpMean: 0.01, jumpStd: 0.025 },
  )
  for (const [name, value] of Object.entries(expected ?? {})) expect(found?.[name as 'lambda']).toBeCloseTo(value, 12)
  expect(found === undefined).toBe(expected === undefined)
})

test('without a jump the size is that of the tier, with one jump the deviation is, with two it is theirs', () => {
  const assumed = { lambda: 1.5, jumpMean: 0.01, jumpStd: 0.025 }
  const estimate = (jumps: readonly number[]) => estimateJumps({ jumps, classified: 756 }, assumed)
  expect(estimate([])).toEqual({ lambda: 1.5 / 4, jumpMean: 0.01, jumpStd: 0.025 })
  expect(estimate([0.06])).toEqual({
    ...{ lambda: 2.5 / 4, jumpStd: 0.025 },
    jumpMean: expect.closeTo((0.06 + 1.5 * 0.01) / 2.5, 12),
  })
  expect(estimate([0.05, 0.07])).toEqual({
    lambda: 3.5 / 4,
    jumpMean: expect.closeTo((2 * 0.06 + 1.5 * 0.01) / 3.5, 12),
    jumpStd: expect.closeTo((2 * Math.sqrt(0.0002) + 1.5 * 0.025) / 3.5, 12),
  })
})

test('many small jumps are hardly pulled to large ones of a tier', () => {
  const small = Array.from({ length: 17 }, (_, at) => (at % 2 ? 0.01 : -0.01))
  const found = estimateJumps({ jumps: small, classified: 756 }, { lambda: 0.75, jumpMean: 0.1, jumpStd: 0.12 })
  expect(found?.jumpMean).toBeLessThan(0.004)
  expect(found?.jumpStd).toBeLessThan(0.016)
})

test('of a rate that moves in steps only the largest eight a year are jumps, and the other steps stay returns', () => {
  const steps = Array.from({ length: 60 + 252 }, (_, day) =>
    day >= 60 && (day - 60) % 12 === 0 ? 0.01 + day / 1e5 : 0,
  )
  const { jumps, diffusive, capped } = splitReturns(steps)
  const moves = steps.filter((r) => r !== 0)
  expect([moves.length, capped]).toEqual([21, true])
  expect(jumps).toEqual(moves.slice(-8))
  expect(diffusive.filter((r) => r !== 0)).toEqual(moves.slice(0, 13))
  expect(splitReturns(steps.slice(0, -120)).capped).toBe(true)
  expect(splitReturns(steps.map((r, day) => (day % 60 === 0 ? r : 0))).capped).toBe(false)
})

const option: Option = { type: 'call', spot: 1, strike: 1.1, years: 1, sigma: 0.2, r: 0.03, q: 0.01 }

test('the strike and its complement are paid with certainty, and each by its probability', () => {
  const [call, put] = (['call', 'put'] as const).map((type) => optionPrice({ ...option, type }, strikeOrNothing))
  expect((call ?? 0) + (put ?? 0)).toBeCloseTo(1.1 * Math.exp(-0.03), 12)
  // N(d2) with d2 = (ln(1 / 1.1) + 0.02 - 0.02) / 0.2.
  expect(call).toBeCloseTo(1.1 * Math.exp(-0.03) * 0.3168414, 6)
})

test('without time an option with jumps is the option, whatever the jumps', () => {
  const now = { ...option, years: 0, spot: 1.2 }
  expect(jumpOptionPrice(now, { lambda: 5, jumpMean: 0.1, jumpStd: 0.1 })).toBe(optionPrice(now))
})

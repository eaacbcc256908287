import { describe, expect, test } from 'vitest'
import { normals, uniforms } from '../../src/lib/random.ts'
import { calibrate } from '../../src/pricing/calibrate/calibrate.ts'
import { fitGarch } from '../../src/pricing/calibrate/garch.ts'
import { estimateJumps, splitReturns } from '../../src/pricing/calibrate/jumps.ts'
import { minimise } from '../../src/pricing/calibrate/minimise.ts'
import { simulateGarch } from '../support/random.ts'

const tier = {
  garch: { alpha: 0.07, beta: 0.9, sigmaLongRun: 0.12 },
  jumps: { lambda: 1.5, jumpMean: 0.01, jumpStd: 0.025 },
}
const seed = 20_241_129
/** The Gaussian likelihood of the process, computed independently, term by term. */
const likelihood = (returns: readonly number[], omega: number, alpha: number, beta: number): number => {
  const squares = returns.map((r) => r ** 2)
  const before = squares.reduce((sum, square) => sum + square, 0) / squares.length
  const variances: number[] = []
  for (const [t] of squares.entries()) {
    variances.push(omega + alpha * (squares[t - 1] ?? before) + beta * (variances[t - 1] ?? before))
  }
  return variances.reduce((sum, h, t) => sum - (Math.log(2 * Math.PI * h) + (squares[t] ?? 0) / h) / 2, 0)
}

describe('the simplex search', () => {
  test('the search finds the minimum of a curved valley', () => {
    const valley = ([x = 0, y = 0]: readonly number[]) => (1 - x) ** 2 + 100 * (y - x ** 2) ** 2
    const { point, value } = minimise(valley, [-1.2, 1], { tolerance: 1e-16 })
    expect(value).toBeLessThan(1e-14)
    expect(point[0]).toBeCloseTo(1, 6)
  })

  test('the search avoids points where the function has no value', () => {
    // The first reflection of 2.5 is -1.5, which has no logarithm.
    const { point } = minimise(([x = 0]) => x - Math.log(x), [0.5], { step: 2, tolerance: 1e-15 })
    expect(point[0]).toBeCloseTo(1, 6)
  })
})

describe('the variance fit', () => {
  const returns = simulateGarch({ omega: 1e-6, alpha: 0.08, beta: 0.9 }, 3_000, seed)
  const fit = fitGarch(returns)

  test('the fit finds the parameters of the process that generated the returns', () => {
    expect(Math.abs(fit.alpha - 0.08)).toBeLessThan(0.03)
    expect(Math.abs(fit.beta - 0.9)).toBeLessThan(0.04)
  })

  test('the fit targets the variance of the sample', () => {
    const meanSquare = returns.reduce((sum, r) => sum + r * r, 0) / returns.length
    expect(fit.omega / (1 - fit.alpha - fit.beta) / meanSquare).toBeCloseTo(1, 12)
  })

  test('no neighbouring parameters have a higher likelihood than the fit', () => {
    const at = (alpha: number, beta: number) =>
      likelihood(returns, (fit.omega * (1 - alpha - beta)) / (1 - fit.alpha - fit.beta), alpha, beta)
    expect(fit.logLikelihood).toBeCloseTo(at(fit.alpha, fit.beta), 6)
    for (const step of [1e-3, 1e-4]) {
      for (const [a, b] of [
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
        [1, -1],
        [-1, 1],
      ] as const) {
        expect(at(fit.alpha + a * step, fit.beta + b * step)).toBeLessThan(fit.logLikelihood)
      }
    }
  })

  test('the fit does not depend on the unit of the returns', () => {
    const percent = fitGarch(returns.map((r) => 100 * r))
    expect(percent.alpha).toBeCloseTo(fit.alpha, 7)
    expect(percent.omega / fit.omega / 1e4).toBeCloseTo(1, 6)
    expect(percent.logLikelihood).toBeCloseTo(fit.logLikelihood - returns.length * Math.log(100), 5)
  })

  test('returns without variance are rejected', () => {
    expect(() => fitGarch([0, 0, 0])).toThrow(RangeError)
    expect(() => fitGarch([0.1, Number.NaN])).toThrow(RangeError)
  })
})

describe('jump estimation', () => {
  const normal = normals(uniforms(seed))
  const calm = Array.from({ length: 755 }, () => 0.005 * normal())
  const jumpDays = new Map([
    [100, 0.06],
    [101, -0.05],
    [300, 0.08],
    [650, 0.05],
  ])
  const jumpy = calm.map((r, day) => jumpDays.get(day) ?? r)
  const split = splitReturns(jumpy)

  test('jumps are separated from other returns, even on consecutive days', () => {
    expect(split.jumps).toEqual([...jumpDays.values()])
    expect(split.classified).toBe(695)
    for (const [day, r] of jumpy.entries()) {
      const kept = split.diffusive[day] ?? Number.NaN
      if (jumpDays.has(day)) expect(Math.abs(kept)).toBeLessThan(0.035 / 4)
      else expect(kept).toBe(r)
      expect(Math.sign(kept)).toBe(Math.sign(r))
    }
  })

  test('jump parameters shrink towards the default, depending on the number of jumps', () => {
    const mean = (0.06 - 0.05 + 0.08 + 0.05) / 4
    const deviation = Math.sqrt([0.06, -0.05, 0.08, 0.05].reduce((sum, r) => sum + (r - mean) ** 2, 0) / 3)
    const { lambda, jumpMean, jumpStd } = estimateJumps(split, tier.jumps) ?? tier.jumps
    // A year of the tier has 1.5 jumps.
    const weight = 4 / (4 + 1.5)
    expect(lambda).toBeCloseTo((4 + 1.5) / (695 / 252 + 1), 12)
    expect(jumpMean).toBeCloseTo(weight * mean + (1 - weight) * 0.01, 15)
    expect(jumpStd).toBeCloseTo(weight * deviation + (1 - weight) * 0.025, 15)
  })

  test('jumps are not estimated from few returns', () => {
    expect(estimateJumps(splitReturns(jumpy.slice(0, 499)), tier.jumps)).toBeUndefined()
    expect(estimateJumps(splitReturns(jumpy.slice(0, 500)), tier.jumps)).toBeDefined()
  })

  test('a pair has at most eight jumps a year', () => {
    const often = calm.map((r, day) => (day % 20 === 19 ? 0.05 : r))
    expect(splitReturns(often)).toMatchObject({ jumps: { length: Math.ceil((8 * 695) / 252) }, capped: true })
    expect(estimateJumps(splitReturns(often), tier.jumps)?.lambda).toBeLessThan(8)
  })

  test('the mean jump of the inverse pair has the opposite sign', () => {
    const mirrored = estimateJumps(splitReturns(jumpy.map((r) => -r)), { ...tier.jumps, jumpMean: -0.01 })
    expect(mirrored?.jumpMean).toBeCloseTo(-(estimateJumps(split, tier.jumps)?.jumpMean ?? 0), 15)
  })
})

describe('calibration', () => {
  const returns = simulateGarch({ omega: 1e-6, alpha: 0.08, beta: 0.9 }, 755, seed)

  test('three years of returns are calibrated by a fit', () => {
    const { garch, garchFrom } = calibrate(returns, tier)
    expect(garchFrom).toBe('fit')
    expect(garch.alpha + garch.beta).toBeLessThanOrEqual(0.999)
    expect(garch).not.toEqual(tier.garch)
  })

  test('a short history takes missing parameters from the tier', () => {
    const short = calibrate(returns.slice(0, 249), tier)
    expect(short.garchFrom).toBe('sample')
    expect(short.garch).toEqual({ ...tier.garch, sigmaLongRun: expect.any(Number) })
    expect(short.garch.sigmaLongRun).not.toBe(tier.garch.sigmaLongRun)
    expect(calibrate(returns.slice(0, 119), tier)).toEqual({ ...tier, garchFrom: 'tier', jumpsFrom: 'tier' })
  })

  test('a variance that never reverts keeps the tier’s process', () => {
    const trending = Array.from({ length: 755 }, (_, day) => (day % 2 === 0 ? 1 : -1) * 1e-4 * 1.01 ** day)
    expect(calibrate(trending, tier).garchFrom).toBe('sample')
  })

  test('jumps do not raise the calibrated variance', () => {
    const jumpy = returns.map((r, day) => (day % 180 === 100 ? 0.2 : r))
    const { garch, jumps, jumpsFrom } = calibrate(jumpy, tier)
    expect(jumpsFrom).toBe('fit')
    expect(jumps.jumpMean).toBeGreaterThan(0.05)
    expect(garch.sigmaLongRun).toBeLessThan(calibrate(returns, tier).garch.sigmaLongRun * 1.1)
  })

  test('a constant rate calibrates to zero variance', () => {
    expect(
      calibrate(
        Array.from({ length: 755 }, () => 0),
        tier,
      ).garch.sigmaLongRun,
    ).toBe(0)
  })
})

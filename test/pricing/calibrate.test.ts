import { describe, expect, test } from 'vitest'
import { normals, uniforms } from '../../src/lib/random.ts'
import { calibrate } from '../../src/pricing/calibrate/calibrate.ts'
import { fitGarch, fitGarchFully } from '../../src/pricing/calibrate/garch.ts'
import { estimateJumps, splitReturns } from '../../src/pricing/calibrate/jumps.ts'
import { minimise } from '../../src/pricing/calibrate/minimise.ts'
import { simulateGarch } from '../support/random.ts'

const tier = {
  garch: { alpha: 0.07, beta: 0.9, sigmaLongRun: 0.12 },
  jumps: { lambda: 1.5, jumpMean: 0.01, jumpStd: 0.025 },
}
const seed = 20_241_129
/** The Gaussian likelihood of the process, written down once more, term by term. */
const likelihood = (returns: readonly number[], mean: number, omega: number, alpha: number, beta: number): number => {
  const squares = returns.map((r) => (r - mean) ** 2)
  const before = squares.reduce((sum, square) => sum + square, 0) / squares.length
  const variances: number[] = []
  for (const [t] of squares.entries()) {
    variances.push(omega + alpha * (squares[t - 1] ?? before) + beta * (variances[t - 1] ?? before))
  }
  return variances.reduce((sum, h, t) => sum - (Math.log(2 * Math.PI * h) + (squares[t] ?? 0) / h) / 2, 0)
}

describe('the search', () => {
  test('finds the bottom of a curved valley', () => {
    const valley = ([x = 0, y = 0]: readonly number[]) => (1 - x) ** 2 + 100 * (y - x ** 2) ** 2
    const { point, value } = minimise(valley, [-1.2, 1], { tolerance: 1e-16 })
    expect(value).toBeLessThan(1e-14)
    expect(point[0]).toBeCloseTo(1, 6)
  })

  test('keeps away from where there is no value', () => {
    // The first mirror image of 2.5 is -1.5, where there is no logarithm.
    const { point } = minimise(([x = 0]) => x - Math.log(x), [0.5], { step: 2, tolerance: 1e-15 })
    expect(point[0]).toBeCloseTo(1, 6)
  })
})

describe('the variance fit', () => {
  const returns = simulateGarch({ omega: 1e-6, alpha: 0.08, beta: 0.9 }, 3_000, seed)
  const fit = fitGarch(returns)

  test('finds the process that made the returns', () => {
    expect(Math.abs(fit.alpha - 0.08)).toBeLessThan(0.03)
    expect(Math.abs(fit.beta - 0.9)).toBeLessThan(0.04)
  })

  test('targets the variance of the sample', () => {
    const meanSquare = returns.reduce((sum, r) => sum + r * r, 0) / returns.length
    expect(fit.omega / (1 - fit.alpha - fit.beta) / meanSquare).toBeCloseTo(1, 12)
  })

  test('has no better neighbour', () => {
    const at = (alpha: number, beta: number) =>
      likelihood(returns, 0, (fit.omega * (1 - alpha - beta)) / (1 - fit.alpha - fit.beta), alpha, beta)
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

  test('knows no unit', () => {
    const percent = fitGarch(returns.map((r) => 100 * r))
    expect(percent.alpha).toBeCloseTo(fit.alpha, 7)
    expect(percent.omega / fit.omega / 1e4).toBeCloseTo(1, 6)
    expect(percent.logLikelihood).toBeCloseTo(fit.logLikelihood - returns.length * Math.log(100), 5)
  })

  test('in full finds mean and omega too, and is at least as likely', () => {
    const shifted = returns.map((r) => r + 4e-4)
    const full = fitGarchFully(shifted)
    expect(Math.abs(full.mean - 4e-4)).toBeLessThan(3e-4)
    expect(full.logLikelihood).toBeGreaterThan(fitGarch(shifted).logLikelihood)
    expect(full.logLikelihood).toBeCloseTo(likelihood(shifted, full.mean, full.omega, full.alpha, full.beta), 6)
    const { mean, omega, alpha, beta } = full
    for (const factor of [0.99, 0.999, 1.001, 1.01]) {
      expect(likelihood(shifted, mean * factor, omega, alpha, beta)).toBeLessThan(full.logLikelihood)
      expect(likelihood(shifted, mean, omega * factor, alpha, beta)).toBeLessThan(full.logLikelihood)
      expect(likelihood(shifted, mean, omega, alpha * factor, beta)).toBeLessThan(full.logLikelihood)
      expect(likelihood(shifted, mean, omega, alpha, beta * factor)).toBeLessThan(full.logLikelihood)
    }
  })

  test('is refused without variance', () => {
    expect(() => fitGarch([0, 0, 0])).toThrow(RangeError)
    expect(() => fitGarchFully([0.1, Number.NaN])).toThrow(RangeError)
  })
})

describe('jumps', () => {
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

  test('are told from the rest, also one right after another', () => {
    expect(split.jumps).toEqual([...jumpDays.values()])
    expect(split.judged).toBe(695)
    for (const [day, r] of jumpy.entries()) {
      const clipped = split.clipped[day] ?? Number.NaN
      if (jumpDays.has(day)) expect(Math.abs(clipped)).toBeLessThan(0.035)
      else expect(clipped).toBe(r)
      expect(Math.sign(clipped)).toBe(Math.sign(r))
    }
  })

  test('have the estimated parameters, drawn to the default by their number', () => {
    const mean = (0.06 - 0.05 + 0.08 + 0.05) / 4
    const deviation = Math.sqrt([0.06, -0.05, 0.08, 0.05].reduce((sum, r) => sum + (r - mean) ** 2, 0) / 3)
    const { lambda, jumpMean, jumpStd } = estimateJumps(split, tier.jumps) ?? tier.jumps
    expect(lambda).toBeCloseTo((4 / 695) * 252, 12)
    expect(jumpMean).toBeCloseTo((4 / 9) * mean + (5 / 9) * 0.01, 15)
    expect(jumpStd).toBeCloseTo((4 / 9) * deviation + (5 / 9) * 0.025, 15)
  })

  test('are not estimated from few returns or few jumps', () => {
    expect(estimateJumps(splitReturns(jumpy.slice(0, 499)), tier.jumps)).toBeUndefined()
    expect(estimateJumps(splitReturns(jumpy.slice(0, 640)), tier.jumps)).toBeDefined()
    expect(estimateJumps(splitReturns(jumpy.slice(102)), tier.jumps)).toBeUndefined()
  })

  test('are at most eight a year', () => {
    const often = calm.map((r, day) => (day % 20 === 19 ? 0.05 : r))
    expect(splitReturns(often).jumps.length).toBeGreaterThan(24)
    expect(estimateJumps(splitReturns(often), tier.jumps)?.lambda).toBe(8)
  })

  test('turn round with the pair', () => {
    const mirrored = estimateJumps(splitReturns(jumpy.map((r) => -r)), { ...tier.jumps, jumpMean: -0.01 })
    expect(mirrored?.jumpMean).toBeCloseTo(-(estimateJumps(split, tier.jumps)?.jumpMean ?? 0), 15)
  })
})

describe('a calibration', () => {
  const returns = simulateGarch({ omega: 1e-6, alpha: 0.08, beta: 0.9 }, 755, seed)

  test('of three years is fitted', () => {
    const { garch, garchFrom } = calibrate(returns, tier)
    expect(garchFrom).toBe('fit')
    expect(garch.alpha + garch.beta).toBeLessThanOrEqual(0.999)
    expect(garch).not.toEqual(tier.garch)
  })

  test('of less takes what it lacks from the tier', () => {
    const short = calibrate(returns.slice(0, 249), tier)
    expect(short.garchFrom).toBe('sample')
    expect(short.garch).toEqual({ ...tier.garch, sigmaLongRun: expect.any(Number) })
    expect(short.garch.sigmaLongRun).not.toBe(tier.garch.sigmaLongRun)
    expect(calibrate(returns.slice(0, 119), tier)).toEqual({ ...tier, garchFrom: 'tier', jumpsFrom: 'tier' })
  })

  test('of variance that never returns keeps the tier’s process', () => {
    const trending = Array.from({ length: 755 }, (_, day) => (day % 2 === 0 ? 1 : -1) * 1e-4 * 1.01 ** day)
    expect(calibrate(trending, tier).garchFrom).toBe('sample')
  })

  test('does not let jumps into the variance', () => {
    const jumpy = returns.map((r, day) => (day % 180 === 100 ? 0.2 : r))
    const { garch, jumps, jumpsFrom } = calibrate(jumpy, tier)
    expect(jumpsFrom).toBe('fit')
    expect(jumps.jumpMean).toBeGreaterThan(0.05)
    expect(garch.sigmaLongRun).toBeLessThan(calibrate(returns, tier).garch.sigmaLongRun * 1.1)
  })

  test('of a rate that stands still is quiet', () => {
    expect(
      calibrate(
        Array.from({ length: 755 }, () => 0),
        tier,
      ).garch.sigmaLongRun,
    ).toBe(0)
  })
})

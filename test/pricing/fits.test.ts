import { describe, expect, it } from 'vitest'
import { normals, uniforms } from '../../src/lib/random.ts'
import { fitGarch } from '../../src/pricing/calibrate/garch.ts'
import { minimise } from '../../src/pricing/calibrate/minimise.ts'

/** Returns of a day's volatility of 1 %, in two halves of which the second is `ratio` times as volatile. */
const returnsOf = (seed: number, count: number, ratio: number): number[] => {
  const normal = normals(uniforms(seed))
  return Array.from({ length: count }, (_, i) => 0.01 * (i < count / 2 ? 1 : ratio) * normal())
}

const meanSquareOf = (returns: readonly number[]): number => returns.reduce((sum, r) => sum + r * r, 0) / returns.length

/** The Gaussian log-likelihood of returns whose long-run variance is their mean square. */
const logLikelihood = (returns: readonly number[], alpha: number, beta: number): number => {
  const mean = meanSquareOf(returns)
  let variance = mean
  let sum = 0
  for (const r of returns) {
    sum -= (Math.log(2 * Math.PI * variance) + (r * r) / variance) / 2
    variance = (1 - alpha - beta) * mean + alpha * r * r + beta * variance
  }
  return sum
}

describe('a fit of the variance', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('is stationary and as likely as every point of a grid (seed %i)', (seed) => {
    const returns = returnsOf(seed, 80, 1 + (seed % 3))
    const fit = fitGarch(returns)
    expect(fit.alpha + fit.beta).toBeLessThan(0.9996)
    expect(Math.min(fit.alpha, fit.beta)).toBeGreaterThanOrEqual(0)
    expect(fit.omega).toBeCloseTo(meanSquareOf(returns) * (1 - fit.alpha - fit.beta), 15)
    expect(fit.logLikelihood).toBeCloseTo(logLikelihood(returns, fit.alpha, fit.beta), 6)
    expect(fit.constantLogLikelihood).toBeCloseTo(logLikelihood(returns, 0, 0), 6)
    for (let alpha = 0; alpha < 1; alpha += 0.05)
      for (let beta = 0; alpha + beta < 0.999; beta += 0.05)
        expect(fit.logLikelihood).toBeGreaterThan(logLikelihood(returns, alpha, beta) - 1e-3)
  })

  it.each([[[0, 0]], [[1e200, -1e200]], [[Number.NaN, 1]], [[Number.POSITIVE_INFINITY, 1]]])(
    'of the returns %j is refused',
    (returns) => {
      expect(() => fitGarch(returns)).toThrow(RangeError)
    },
  )
})

describe('the simplex search', () => {
  it('counts NaN as too high', () => {
    const { point, value } = minimise(([x = 0]) => (x < 0 ? Number.NaN : (x - 1) ** 2), [-0.2])
    expect(point[0]).toBeCloseTo(1, 4)
    expect(value).toBeLessThan(1e-8)
  })

  it('ends on a function without a minimum', () => {
    let calls = 0
    const falling = ([x = 0]: readonly number[]): number => {
      calls += 1
      if (calls > 20_000) throw new Error('no end')
      return -x
    }
    expect(minimise(falling, [0]).value).toBeLessThan(-1e9)
    expect(calls).toBeGreaterThan(2_000)
  })

  it('needs an argument', () => {
    expect(() => minimise(() => 0, [])).toThrow('nothing to minimise')
  })
})

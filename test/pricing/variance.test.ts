import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { averageVariance, ewmaVolatility, kernelSigma, logReturns } from '../../src/pricing/variance.ts'
import { publicVectors } from './vectors.ts'

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true })
const forecast = fc.record({
  sigma0: number(0.001, 1),
  sigmaLongRun: number(0.001, 1),
  persistence: number(0.01, 0.9999),
})

describe('the spot volatility', () => {
  test('the spot volatility follows its definition, weight by weight', () => {
    fc.assert(
      fc.property(fc.array(number(-0.1, 0.1), { minLength: 1, maxLength: 90 }), (returns) => {
        const last = returns.slice(-60)
        const weights = last.map((_, i) => 0.94 ** (last.length - 1 - i))
        const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
        const variance = sum(last.map((r, i) => r * r * (weights[i] ?? 0))) / sum(weights)
        expect(ewmaVolatility(returns)).toBeCloseTo(Math.sqrt(252 * variance), 13)
      }),
    )
  })

  test('the spot volatility of equal moves is their size, whatever their number', () => {
    for (const count of [1, 29, 60, 300]) {
      const returns = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? 0.01 : -0.01))
      expect(ewmaVolatility(returns)).toBeCloseTo(0.01 * Math.sqrt(252), 14)
    }
  })

  test('the spot volatility ignores returns before the last 60', () => {
    const quiet = Array.from({ length: 60 }, () => 0.001)
    expect(ewmaVolatility([0.5, ...quiet])).toBe(ewmaVolatility(quiet))
    expect(ewmaVolatility([0.5, ...quiet.slice(1)])).toBeGreaterThan(ewmaVolatility(quiet))
  })

  test('the spot volatility is the same for a pair and its inverse', () => {
    const closes = [11.4, 11.52, 11.31, 11.9, 12.2]
    const inverse = closes.map((close) => 1 / close)
    expect(ewmaVolatility(logReturns(inverse))).toBeCloseTo(ewmaVolatility(logReturns(closes)), 14)
    expect(logReturns(closes)).toHaveLength(4)
    expect(logReturns(closes)[0]).toBeCloseTo(Math.log(11.52 / 11.4), 15)
  })

  test('the spot volatility needs a return', () => {
    expect(() => ewmaVolatility([])).toThrow(RangeError)
  })
})

describe('the average variance', () => {
  test.each(publicVectors.garchTerm.cases)('the average variance equals the public vector $id', (expected) => {
    const average = averageVariance(expected, expected.N)
    expect(Math.abs(average / expected.averageVariance - 1)).toBeLessThanOrEqual(1e-9)
    expect(Math.abs(Math.sqrt(average) / expected.sigmaIntegrated - 1)).toBeLessThanOrEqual(1e-9)
  })

  test('the average variance is the mean of the daily expectations for whole days', () => {
    fc.assert(
      fc.property(forecast, fc.integer({ min: 1, max: 800 }), (process, days) => {
        let daily = process.sigma0 ** 2
        let sum = 0
        for (let day = 0; day < days; day += 1) {
          sum += daily
          daily = process.sigmaLongRun ** 2 + process.persistence * (daily - process.sigmaLongRun ** 2)
        }
        expect(Math.abs(averageVariance(process, days) / (sum / days) - 1)).toBeLessThan(1e-9)
      }),
    )
  })

  test('the average variance tends to the long run as the horizon grows', () => {
    fc.assert(
      fc.property(forecast, (process) => {
        const [near, far] = [30, 3_000].map((days) =>
          Math.abs(averageVariance(process, days) - process.sigmaLongRun ** 2),
        )
        expect(far).toBeLessThanOrEqual((near ?? 0) + 1e-15)
        expect(averageVariance(process, 1e12)).toBeCloseTo(process.sigmaLongRun ** 2, 7)
      }),
    )
  })

  test('the average variance is the next day’s at no horizon, over one day, and for a process without reversion', () => {
    const process = { sigma0: 0.2, sigmaLongRun: 0.1, persistence: 0.95 }
    expect(averageVariance(process, 0)).toBe(0.2 ** 2)
    expect(averageVariance(process, 1)).toBeCloseTo(0.04, 15)
    expect(averageVariance({ ...process, persistence: 1 }, 62.5)).toBe(0.2 ** 2)
    expect(averageVariance({ ...process, persistence: 1 - 1e-12 }, 62.5)).toBeCloseTo(0.04, 11)
    expect(averageVariance({ ...process, persistence: 0 }, 2)).toBeCloseTo((0.04 + 0.01) / 2, 15)
  })

  test('the average variance is never negative, even within a day of a process with fast reversion', () => {
    const process = { sigma0: 0.05, sigmaLongRun: 0.5, persistence: 0.2 }
    expect(averageVariance(process, 0.1)).toBe(0.05 ** 2)
    fc.assert(fc.property(forecast, number(0, 1), (any, days) => averageVariance(any, days) > 0))
  })

  test('the average variance rejects arguments that are negative or not finite', () => {
    const process = { sigma0: 0.2, sigmaLongRun: 0.1, persistence: 0.95 }
    expect(() => averageVariance(process, -1)).toThrow(RangeError)
    expect(() => averageVariance({ ...process, sigma0: Number.NaN }, 1)).toThrow(RangeError)
  })

  test('the average variance of the worked example is the worked number', () => {
    const process = { sigma0: 0.11, sigmaLongRun: 0.17, persistence: 0.95 }
    expect(Math.sqrt(averageVariance(process, (252 * 90) / 365))).toBeCloseTo(0.15399950494384307, 15)
  })
})

test('the tier’s markup is applied before its floor', () => {
  expect(kernelSigma(0.14, { floor: 0.15, volMarkup: 1 })).toBe(0.15)
  expect(kernelSigma(0.14, { floor: 0.15, volMarkup: 1.25 })).toBeCloseTo(0.175, 15)
  expect(kernelSigma(0.1, { floor: 0, volMarkup: 1 })).toBe(0.1)
})

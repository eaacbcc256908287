import { expect, test } from 'vitest'
import { normals, uniforms } from '../../src/lib/random.ts'
import { type Dated, figuresOf, pitOf, yearsOf } from './figures.ts'

/** The last day of each month from 1990 on. */
const monthsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => new Date(Date.UTC(1990, index + 1, 0)).toISOString().slice(0, 10))

const quoted = (date: string, premiums: number, payouts: number): Dated => ({
  date,
  quotes: 1,
  refused: 0,
  premiums,
  payouts,
  worth: payouts,
  paid: payouts > 0 ? 1 : 0,
  chance: 0.5,
})

test('the interval of independent months is about that of a mean: 1.645 standard errors on each side', () => {
  const normal = normals(uniforms(1))
  const payouts = monthsOf(400).map(() => 100 + 40 * normal())
  const mean = payouts.reduce((sum, payout) => sum + payout, 0) / 400
  const { ratio, interval } = figuresOf(monthsOf(400).map((date, index) => quoted(date, 100, payouts[index] ?? 0)))
  expect(ratio).toBeCloseTo(mean / 100, 4)
  const [from = 0, to = 0] = interval ?? []
  expect((to - from) / 2).toBeGreaterThan(0.8 * 1.645 * 0.4 * 0.05)
  expect((to - from) / 2).toBeLessThan(1.2 * 1.645 * 0.4 * 0.05)
})

test('runs of four equal months widen the interval twofold, as a quarter of the months would', () => {
  const normal = normals(uniforms(2))
  const own = Array.from({ length: 400 }, () => 100 + 40 * normal())
  const widthOf = (payoutOf: (index: number) => number): number => {
    const { interval } = figuresOf(monthsOf(400).map((date, index) => quoted(date, 100, payoutOf(index))))
    return (interval?.[1] ?? 0) - (interval?.[0] ?? 0)
  }
  const repeated = widthOf((index) => own[index - (index % 4)] ?? 0)
  const independent = widthOf((index) => own[index] ?? 0)
  expect(repeated / independent).toBeGreaterThan(1.6)
  expect(repeated / independent).toBeLessThan(2.4)
})

test('the pairs of one date count as one date, and a refused range in no ratio', () => {
  const [first = '', second = ''] = monthsOf(2)
  const refused: Dated = { ...quoted(second, 0, 0), quotes: 0, refused: 1, chance: 0 }
  const figures = figuresOf([quoted(first, 100, 0), quoted(first, 100, 300), refused])
  expect(figures).toMatchObject({ dates: 1, quotes: 2, refused: 1, ratio: 1.5, paid: 0.5, chance: 0.5 })
  expect(figuresOf([refused])).toMatchObject({
    dates: 0,
    quotes: 0,
    refused: 1,
    ratio: null,
    interval: null,
    paid: null,
  })
})

test('the worst year is the one with the highest ratio among years with at least six dates', () => {
  const months = monthsOf(29)
  const items = months.map((date) => quoted(date, 100, date < '1991' ? 50 : date < '1992' ? 200 : 900))
  expect(yearsOf(items)).toEqual([
    [1990, 0.5],
    [1991, 2],
  ])
  expect(figuresOf(items).worstYear).toEqual([1991, 2])
})

test('uniform probabilities are below the critical value, and those of a volatility a third too high above it', () => {
  const uniform = uniforms(3)
  const pits = monthsOf(400).map((date) => ({ date, pit: uniform() }))
  const right = pitOf(pits)
  expect(right.statistic).toBeLessThan(right.critical)
  // The critical value of Kolmogorov and Smirnov is 1.358 / sqrt(400); resamples give it within a fifth.
  expect(right.critical).toBeGreaterThan(0.8 * 0.0679)
  expect(right.critical).toBeLessThan(1.2 * 0.0679)
  const wide = pitOf(pits.map(({ date, pit }) => ({ date, pit: 0.5 + (pit - 0.5) / 1.33 })))
  expect(wide.statistic).toBeGreaterThan(wide.critical)
  expect(wide.statistic).toBeCloseTo(0.125, 1)
})

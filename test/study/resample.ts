import { uniforms } from '../../src/lib/random.ts'
import { BOOTSTRAP } from './grid.ts'

/*
 * The circular block bootstrap of Politis & Romano (1992): months in blocks keep the dependence that overlapping
 * horizons make, and each month keeps all its pairs. Every figure uses the same seed, so that it does not depend on
 * which others are computed.
 */

/** For each column of `rows` (one row a month), its sum over the months of each resample. */
export const resample = (rows: readonly (readonly number[])[]): readonly (readonly number[])[] => {
  const count = rows.length
  const block = Math.min(BOOTSTRAP.block, count)
  const columns = rows[0]?.length ?? 0
  /** Sums of the first rows, twice around. */
  const sums = [Array.from({ length: columns }, () => 0)]
  for (const row of [...rows, ...rows]) {
    const before = sums.at(-1) ?? []
    sums.push(before.map((sum, column) => sum + (row[column] ?? 0)))
  }
  const uniform = uniforms(BOOTSTRAP.seed)
  return Array.from({ length: BOOTSTRAP.resamples }, () => {
    const total = Array.from({ length: columns }, () => 0)
    for (let taken = 0; taken < count; taken += block) {
      const start = Math.floor(uniform() * count)
      const [from = [], to = []] = [sums[start], sums[start + block]]
      for (let column = 0; column < columns; column += 1)
        total[column] = (total[column] ?? 0) + (to[column] ?? 0) - (from[column] ?? 0)
    }
    return total
  })
}

/** The value below which a share of the values lies; undefined without values. */
export const quantile = (values: readonly number[], share: number): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))]

import { quantile } from '../faults/target.ts'

/** A value at a time, in minutes. */
export type Point = { readonly at: number; readonly value: number }

/**
 * The growth of a value per minute: the median of the slopes between all pairs of points (Theil–Sen), which ignores a
 * few outliers.
 */
export const slope = (points: readonly Point[]): number =>
  quantile(
    points.flatMap((one, from) =>
      points.slice(from + 1).map((other) => (other.value - one.value) / (other.at - one.at)),
    ),
    0.5,
  )

/** The least of each `many` points in a row. */
export const leastOfEach = (many: number, points: readonly Point[]): readonly Point[] =>
  Array.from({ length: Math.ceil(points.length / many) }, (_, nth) =>
    points.slice(nth * many, (nth + 1) * many).reduce((least, it) => (it.value < least.value ? it : least)),
  )

/** The growth of a value over the second half of its points, by their slope, and its median there. */
export const growth = (points: readonly Point[]): { readonly by: number; readonly median: number } => {
  const half = points.slice(points.length >> 1)
  const lasted = (half.at(-1)?.at ?? 0) - (half[0]?.at ?? 0)
  return {
    by: half.length < 2 ? 0 : slope(half) * lasted,
    median: quantile(
      half.map(({ value }) => value),
      0.5,
    ),
  }
}

import { invalidField } from '../../lib/errors.ts'

const HOUR = 3_600n
const DAY = 24n * HOUR

/**
 * The intervals in seconds, and an end of one of them. Hours and days are those of UTC, and weeks end with Sunday: the
 * epoch was the beginning of a Thursday.
 */
const intervals = {
  hour: { seconds: HOUR, end: 0n },
  day: { seconds: DAY, end: 0n },
  week: { seconds: 7n * DAY, end: 4n * DAY },
} as const

export type Interval = keyof typeof intervals

export const intervalNames = ['hour', 'day', 'week'] as const satisfies readonly Interval[]

/** Most points of an answer. */
export const MAX_POINTS = 10_000

/** Throws `validation_error` for more than `MAX_POINTS` points, of all chains and tokens of an answer together. */
export const atMostPoints = <T>(points: readonly T[]): readonly T[] => {
  if (points.length > MAX_POINTS)
    throw invalidField('interval', `expected at most ${MAX_POINTS} points: take a longer interval, or a later from`)
  return points
}

/**
 * The times of a series (Unix seconds): the last second of each interval from `from` on that ends before `to`, and `to`.
 * Throws `validation_error` for more than `MAX_POINTS`.
 *
 * @example timesOf('day', 86_400n, 200_000n) // [172_799n, 200_000n]
 */
export const timesOf = (interval: Interval, from: bigint, to: bigint, most = MAX_POINTS): bigint[] => {
  const { seconds, end } = intervals[interval]
  const first = ((from - end + seconds) / seconds) * seconds + end - 1n
  const many = to <= first ? 0n : (to - first - 1n) / seconds + 1n
  if (many >= BigInt(most))
    throw invalidField('interval', `expected at most ${most} points: take a longer interval, or a later from`)
  return [...Array.from({ length: Number(many) }, (_, at) => first + BigInt(at) * seconds), to]
}

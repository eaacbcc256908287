import { expect, test } from 'vitest'
import { atMostPoints, MAX_POINTS, timesOf } from '../../src/reads/series/times.ts'

const seconds = (iso: string): bigint => BigInt(Date.parse(iso) / 1_000)
const isoOf = (time: bigint): string => new Date(Number(time) * 1_000).toISOString()

const between = (interval: Parameters<typeof timesOf>[0], from: string, to: string, most?: number): string[] =>
  timesOf(interval, seconds(from), seconds(to), most).map(isoOf)

test('points are the last seconds of hours and days, and the end', () => {
  expect(between('day', '2026-03-01T12:00:00Z', '2026-03-03T06:00:00Z')).toEqual([
    ...['2026-03-01T23:59:59.000Z', '2026-03-02T23:59:59.000Z', '2026-03-03T06:00:00.000Z'],
  ])
  expect(between('hour', '2026-03-01T12:00:00Z', '2026-03-01T13:59:59Z')).toEqual([
    ...['2026-03-01T12:59:59.000Z', '2026-03-01T13:59:59.000Z'],
  ])
})

test('the last second of an interval belongs to it', () => {
  expect(between('day', '2026-03-01T23:59:59Z', '2026-03-02T00:00:00Z')).toEqual([
    ...['2026-03-01T23:59:59.000Z', '2026-03-02T00:00:00.000Z'],
  ])
  expect(between('day', '2026-03-01T00:00:00Z', '2026-03-01T23:59:59Z')).toEqual(['2026-03-01T23:59:59.000Z'])
  expect(between('day', '2026-03-01T00:00:00Z', '2026-03-01T00:00:00Z')).toEqual(['2026-03-01T00:00:00.000Z'])
})

test('weeks end with Sunday', () => {
  const weeks = between('week', '2026-03-04T00:00:00Z', '2026-03-18T00:00:00Z')
  expect(weeks).toEqual(['2026-03-08T23:59:59.000Z', '2026-03-15T23:59:59.000Z', '2026-03-18T00:00:00.000Z'])
  expect(weeks.slice(0, -1).map((time) => new Date(time).getUTCDay())).toEqual([0, 0])
})

test('as many points as allowed are returned, and one more is refused', () => {
  expect(between('day', '2026-03-01T00:00:00Z', '2026-03-03T06:00:00Z', 3)).toHaveLength(3)
  expect(() => between('day', '2026-03-01T00:00:00Z', '2026-03-04T06:00:00Z', 3)).toThrow(/at most 3 points/)
})

test('an answer has at most 10,000 points of all of its chains and tokens', () => {
  const points = Array.from({ length: MAX_POINTS }, (_, at) => at)
  expect(atMostPoints(points)).toHaveLength(10_000)
  expect(() => atMostPoints([...points, 0])).toThrow(/at most 10000 points/)
})

type Pair = readonly [number, number]

/** The place of a value: a straight line from one range to another. */
export const scaleOf =
  ([from, to]: Pair, [start, end]: Pair) =>
  (value: number): number =>
    to === from ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start)

/** About `count` round values within a range, each a multiple of 1, 2 or 5 times a power of ten. */
export const ticksOf = ([from, to]: Pair, count: number): readonly number[] => {
  const rough = (to - from) / count
  if (!(rough > 0)) return [from]
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  const first = Math.ceil(from / step)
  const last = Math.floor(to / step)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}

/** What an axis shows of a range: at least a length, with the range in its middle. */
export const atLeast = ([from, to]: Pair, length: number): Pair => {
  const rest = Math.max(0, length - (to - from)) / 2
  return [from - rest, to + rest]
}

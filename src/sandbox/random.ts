export type Random = {
  /** An integer from `min` to `max`, both included. */
  readonly int: (min: number, max: number) => number
  /** One of the list. Throws a RangeError when it is empty. */
  readonly pick: <T>(list: readonly T[]) => T
}

/** A small seeded generator (mulberry32): the same seed gives the same story. Not for secrets. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    int,
    pick(list) {
      const chosen = list[int(0, list.length - 1)]
      if (chosen === undefined) throw new RangeError('nothing to pick from')
      return chosen
    },
  }
}

import { uniforms } from '../../lib/random.ts'

export type Random = {
  /** An integer from `min` to `max`, inclusive. */
  readonly int: (min: number, max: number) => number
  /** An item of the list. Throws a RangeError when it is empty. */
  readonly pick: <T>(list: readonly T[]) => T
}

/** Integers and choices from a seeded generator: the same seed gives the same sequence. Not for secrets. */
export const createRandom = (seed: number): Random => {
  const next = uniforms(seed)
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    int,
    pick(list) {
      const chosen = list[int(0, list.length - 1)]
      if (chosen === undefined) throw new RangeError('cannot pick from an empty list')
      return chosen
    },
  }
}

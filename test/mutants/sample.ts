import { createHash } from 'node:crypto'

/** How many of each folder are chosen at most, and what decides which. */
export type Sample = { readonly most: number; readonly seed: string }

/** At most `most` things of each folder. The seed chooses them by the hashes of their names. */
export const fewOfEach = <T>(
  all: readonly T[],
  { most, seed }: Sample,
  nameOf: (it: T) => readonly [folder: string, ...names: string[]],
): T[] => {
  const ordered = all
    .map((it) => {
      const [folder, ...names] = nameOf(it)
      return {
        it,
        folder,
        order: createHash('sha256')
          .update([seed, ...names].join('\0'))
          .digest('hex'),
      }
    })
    .toSorted((a, b) => (a.order < b.order ? -1 : 1))
  const seen = new Map<string, number>()
  return ordered.flatMap(({ it, folder }) => {
    const before = seen.get(folder) ?? 0
    seen.set(folder, before + 1)
    return before < most ? [it] : []
  })
}

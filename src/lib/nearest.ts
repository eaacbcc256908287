import leven from 'leven'

/** A longer word is compared by its first letters only, which bounds the cost for texts from clients. */
const MAX_LETTERS = 64

/**
 * Returns the known word that was probably meant, or undefined if none is near. Near means that at most a third of the
 * letters differ, rounded up.
 *
 * @example nearest('quite', ['quiet', 'persist']) // 'quiet'
 */
export const nearest = (word: string, known: readonly string[]): string | undefined => {
  const given = word.slice(0, MAX_LETTERS).toLowerCase()
  const ranked = known.map((name) => ({ name, letters: leven(given, name.toLowerCase()) }))
  const [best] = ranked.toSorted((a, b) => a.letters - b.letters)
  return best && best.letters <= Math.ceil(given.length / 3) ? best.name : undefined
}

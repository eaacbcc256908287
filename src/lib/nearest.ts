import leven from 'leven'

/** A longer word is compared by its beginning: what others send is not worth more. */
const MAX_LETTERS = 64

/**
 * The known word that was probably meant, or undefined when none is near: at most a third of its letters differ, rounded up.
 *
 * @example nearest('quite', ['quiet', 'persist']) // 'quiet'
 */
export const nearest = (word: string, known: readonly string[]): string | undefined => {
  const given = word.slice(0, MAX_LETTERS).toLowerCase()
  const ranked = known.map((name) => ({ name, letters: leven(given, name.toLowerCase()) }))
  const [best] = ranked.toSorted((a, b) => a.letters - b.letters)
  return best && best.letters <= Math.ceil(given.length / 3) ? best.name : undefined
}

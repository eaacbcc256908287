/** In how many letters two words differ: added, left out, replaced. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (const [to, against] of [...other].entries()) {
      const [replaced = 0, added = 0, dropped = 0] = [row[to], next[to], row[to + 1]]
      next.push(Math.min(replaced + (letter === against ? 0 : 1), added + 1, dropped + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** A longer word is compared by its beginning: what others send is not worth more. */
const MAX_LETTERS = 64

/**
 * The known word that was probably meant, or undefined when none is near: at most a third of its letters differ, rounded up.
 *
 * @example nearest('quite', ['quiet', 'persist']) // 'quiet'
 */
export const nearest = (word: string, known: readonly string[]): string | undefined => {
  const given = word.slice(0, MAX_LETTERS).toLowerCase()
  const ranked = known.map((name) => ({ name, letters: distance(given, name.toLowerCase()) }))
  const [best] = ranked.toSorted((a, b) => a.letters - b.letters)
  return best && best.letters <= Math.ceil(given.length / 3) ? best.name : undefined
}

/** How many differences are kept as text. */
const KEPT = 20

/**
 * Compares values one by one, however deep they are in objects and lists, and counts them. Differences are counted and
 * the first ones kept, so that a run shows how many of all values differ.
 *
 * @example
 * const compared = createComparisons()
 * compared.add('event 1 at 7', { strike: '1' }, { strike: '1' }) // compared.values is 1
 */
export const createComparisons = () => {
  const found = { values: 0, differences: 0, texts: [] as string[] }
  const add = (what: string, actual: unknown, expected: unknown): void => {
    if (typeof expected === 'object' && expected !== null) {
      const names = Array.isArray(expected)
        ? Array.from({ length: Math.max(expected.length, Object(actual).length ?? 0) }, (_, at) => String(at))
        : Object.keys(expected)
      for (const name of names) add(`${what} ${name}`, Object(actual)[name], Object(expected)[name])
      return
    }
    found.values += 1
    if (Object.is(actual, expected)) return
    found.differences += 1
    if (found.texts.length < KEPT) found.texts.push(`${what}: ${String(actual)}, expected ${String(expected)}`)
  }
  return Object.assign(found, { add })
}

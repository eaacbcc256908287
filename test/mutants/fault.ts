/**
 * A deliberate fault: a text that occurs once in a file, what replaces it, and for a fault that no caller can see, why
 * it changes nothing. Such a fault does not count.
 */
export type Fault = readonly [find: string, replacement: string, same?: string]

/** The faults of a file, and the test files that have to notice each of them, the fastest first. */
export type FaultyFile = { readonly tests: readonly string[]; readonly faults: readonly Fault[] }

/** Faulty files by their path from the root of the repository. */
export type Faults = Readonly<Record<string, FaultyFile>>

/**
 * The text of a file with a fault. Throws an Error if the text to replace does not occur exactly once, or stays the
 * same.
 */
export const withFault = (text: string, [find, replacement]: Fault): string => {
  const parts = text.split(find)
  if (parts.length !== 2) throw new Error(`occurs ${parts.length - 1} times instead of once: ${find}`)
  if (find === replacement) throw new Error(`is no fault: ${find}`)
  return parts.join(replacement)
}

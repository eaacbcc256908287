/**
 * Odd forms of answers that are understood all the same: a log that a reorg removed, that is in no block
 * yet or that appears twice, a number in place of hex, a string as id, an error that is null or whose code is a string,
 * further items in a batch, a compressed body.
 */
export type Odd = 'removed' | 'pending' | 'doubled' | 'number' | 'id' | 'error' | 'extra' | 'compressed'

let found: Set<Odd> | undefined

/** Adds an odd form to those of the answer that is being parsed. */
export const noteOdd = (kind: Odd): void => void found?.add(kind)

/** Runs `parse`, which is synchronous, and adds what it notes to `odd`. */
export const collectOdd = <T>(odd: Set<Odd> | undefined, parse: () => T): T => {
  found = odd
  return parse()
}

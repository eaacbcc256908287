/** Sums by key. A key whose sum is back at zero takes no memory. */
export type Tally<K> = {
  of(key: K): number
  add(key: K, amount: number): void
  /** The number of keys with a sum above zero. */
  size(): number
}

/**
 * Creates sums that begin at zero and are never below it.
 *
 * @example
 * const open = createTally<string>()
 * open.add('192.0.2.1', 1)
 */
export const createTally = <K>(): Tally<K> => {
  const sums = new Map<K, number>()
  const of = (key: K): number => sums.get(key) ?? 0
  return {
    of,
    add(key, amount) {
      const sum = of(key) + amount
      if (sum > 0) sums.set(key, sum)
      else sums.delete(key)
    },
    size: () => sums.size,
  }
}

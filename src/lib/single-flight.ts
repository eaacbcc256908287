/**
 * Overlapping calls with the same key share one execution and its outcome. Outcomes are not cached.
 *
 * @example
 * const once = createSingleFlight<Block>()
 * await Promise.all([once('head', read), once('head', read)]) // one read
 */
export const createSingleFlight = <T>(): ((key: string, run: () => Promise<T>) => Promise<T>) => {
  const flights = new Map<string, Promise<T>>()
  return (key, run) => {
    const flying = flights.get(key)
    if (flying !== undefined) return flying
    const flight = run().finally(() => flights.delete(key))
    flights.set(key, flight)
    return flight
  }
}

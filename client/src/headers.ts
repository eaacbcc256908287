/** Headers of a request. The names may have any letter case. */
export type GivenHeaders = Readonly<Record<string, string | undefined>> | Headers

/**
 * Joins headers: of one name, in any letter case, the last one wins. `fetch` would send both values of names that differ
 * in their case.
 */
export const joinHeaders = (...given: readonly (GivenHeaders | undefined)[]): Headers => {
  const joined = new Headers()
  for (const headers of given) {
    const entries = headers instanceof Headers ? headers : Object.entries(headers ?? {})
    for (const [name, value] of entries) if (value !== undefined) joined.set(name, value)
  }
  return joined
}

/** What is kept of an execution in this tab, so that a page that is loaded again knows of it. */
export type Kept = { readonly chainId: number; readonly from: string; readonly hashes: readonly string[] }

const KEY = 'execution'

/**
 * Reads what was kept; null for nothing.
 *
 * @internal
 */
export const keptOf = (text: string | null): Kept | null => {
  if (text === null) return null
  try {
    const { chainId, from, hashes } = JSON.parse(text)
    return { chainId: Number(chainId), from: String(from), hashes: hashes.map(String) }
  } catch {
    return null
  }
}

/** A browser that forbids storage keeps nothing. */
export const kept = {
  read(): Kept | null {
    try {
      return keptOf(sessionStorage.getItem(KEY))
    } catch {
      return null
    }
  },
  write({ chainId, from, hashes }: Kept): void {
    try {
      sessionStorage.setItem(KEY, JSON.stringify({ chainId, from, hashes }))
    } catch {}
  },
  clear(): void {
    try {
      sessionStorage.removeItem(KEY)
    } catch {}
  },
}

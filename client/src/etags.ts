type Entry = { readonly tag: string; readonly body: unknown }

const MAX_ENTRIES = 500

/** The newest responses by URL, for conditional requests. The oldest entry makes room for a new one. */
export class Etags {
  readonly #entries = new Map<string, Entry>()

  get(url: string): Entry | undefined {
    return this.#entries.get(url)
  }

  set(url: string, tag: string | null, body: unknown): void {
    this.#entries.delete(url)
    if (tag === null) return
    this.#entries.set(url, { tag, body })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest)
  }
}

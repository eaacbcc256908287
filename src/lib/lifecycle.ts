/** Opened resources; `close` closes them in reverse order. */
export type Closers = {
  /** Registers `close` under a name for error messages, and returns `resource`. */
  add<T>(name: string, resource: T, close: (resource: T) => Promise<unknown> | unknown): T
  /**
   * Closes everything once, last opened first. Every closer runs; if any fails, it throws an AggregateError at the end.
   */
  close(): Promise<void>
}

/**
 * A stack of closers: code that opens a resource registers how to close it at the same place.
 *
 * @example
 * const closers = createClosers()
 * const pool = closers.add('database pool', createPool(url), (p) => p.end())
 * await closers.close()
 */
export const createClosers = (): Closers => {
  const stack: { name: string; close: () => Promise<unknown> | unknown }[] = []
  let closing: Promise<void> | undefined

  const drain = async (): Promise<void> => {
    const failures: Error[] = []
    for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
      try {
        await entry.close()
      } catch (cause) {
        failures.push(new Error(`closing ${entry.name} failed`, { cause }))
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map((f) => f.message).join('; '))
  }

  return {
    add(name, resource, close) {
      stack.push({ name, close: () => close(resource) })
      return resource
    },
    close() {
      closing ??= drain()
      return closing
    },
  }
}

/** Resolves after `ms`, or at once when `signal` aborts; never rejects, so a loop only checks its signal. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, Math.max(0, ms))
    signal?.addEventListener('abort', done, { once: true })
  })

/** What was opened, in order; `close` closes it in reverse. */
export type Closers = {
  /** Registers `close` under a name that a failure will carry, and gives `resource` back. */
  add<T>(name: string, resource: T, close: (resource: T) => Promise<unknown> | unknown): T
  /** Closes everything once, last opened first; every closer runs even when an earlier one fails. Throws an AggregateError then. */
  close(): Promise<void>
}

/**
 * A stack of closers, so that whatever opens something registers how it ends at the same place.
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

/** Resolves after `ms`, or at once when `signal` aborts; never rejects, so a loop just looks at its signal. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
  })

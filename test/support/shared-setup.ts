type Started<T> = { readonly value: T; readonly close: () => Promise<unknown> }
type Entry = { readonly started: Promise<Started<unknown>>; users: number }

const key = Symbol.for('fx.test.shared-setup')
const store = globalThis as typeof globalThis & { [key]?: Map<string, Entry> }

/**
 * Starts something once for all projects of a run. Vitest loads the global setup of each project separately, so only
 * the process itself can hold what they share. The last project that releases it closes it.
 */
export const share = async <T>(
  name: string,
  start: () => Promise<Started<T>>,
): Promise<{ readonly value: T; readonly release: () => Promise<void> }> => {
  store[key] ??= new Map()
  const entries = store[key]
  const entry = entries.get(name) ?? { started: start(), users: 0 }
  entries.set(name, entry)
  entry.users += 1
  const { value, close } = (await entry.started) as Started<T>
  const release = async (): Promise<void> => {
    entry.users -= 1
    if (entry.users > 0) return
    entries.delete(name)
    await close()
  }
  return { value, release }
}

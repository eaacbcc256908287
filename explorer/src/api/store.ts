import { useEffect, useState } from 'preact/hooks'

/** A value that parts of the page share. */
export type Store<T> = {
  readonly get: () => T
  readonly set: (value: T) => void
  /** Calls a listener after each change, until the returned function is called. */
  readonly subscribe: (listener: () => void) => () => void
}

export const createStore = <T>(initial: T): Store<T> => {
  let current = initial
  const listeners = new Set<() => void>()
  return {
    get: () => current,
    set: (value) => {
      current = value
      for (const listener of [...listeners]) listener()
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}

/** The value of a store. */
export const useStore = <T>({ get, subscribe }: Store<T>): T => {
  const [, redraw] = useState<unknown>()
  useEffect(() => {
    const listener = (): void => redraw({})
    // It may have changed since it was drawn.
    listener()
    return subscribe(listener)
  }, [get, subscribe])
  return get()
}

import { sleep } from '../../lib/lifecycle.ts'

/** The condition of a wait and its deadline. */
export type Wait<S, T> = {
  /** Waits of one key share its request; a wait without a key adds no request to the round. */
  readonly key?: string
  /** Returns the result, or undefined to go on waiting. */
  readonly check: (seen: S) => T | undefined
  /** The error at the deadline, from the last result of a round. */
  readonly late: (seen: S) => Error
  /** As `performance.now`. The last round may end after it. */
  readonly deadline: number
  /** Ends the wait with its reason. */
  readonly signal: AbortSignal
}

type Entry<S> = { see(seen: S): void; fail(reason: unknown): void }

/** The least time between two rounds, in milliseconds, so waits that start in a burst share one. */
const MIN_GAP_MS = 10

/**
 * Polls on behalf of many waits. One round runs at a time: every `everyMs` while there are waits, and at once for a new
 * key. A round asks for at most `atOnce` keys; the others follow in the next one. An error of `read` ends the waits of
 * its round.
 *
 * @example
 * const poll = createSharedPoll({ everyMs: 100, atOnce: 50, read: (keys) => receiptsOf(keys) })
 * const block = await poll.until({ key: hash, check: (seen) => seen.get(hash), late, deadline, signal })
 */
export const createSharedPoll = <S>(deps: {
  readonly everyMs: number
  readonly atOnce: number
  readonly read: (keys: readonly string[]) => Promise<S>
}) => {
  const { everyMs, atOnce, read } = deps
  const waiting = new Map<string, Set<Entry<S>>>()
  let pause: AbortController | null = null
  let isRunning = false

  const round = async (): Promise<void> => {
    const turn = [...waiting].slice(0, atOnce)
    for (const [key, entries] of turn) {
      waiting.delete(key)
      waiting.set(key, entries)
    }
    // A wait that starts during the round may be about something that happened after its request.
    const asked = turn.flatMap(([, entries]) => [...entries])
    try {
      const seen = await read(turn.map(([key]) => key))
      for (const entry of asked) entry.see(seen)
    } catch (fault) {
      for (const entry of asked) entry.fail(fault)
    }
  }

  const run = async (): Promise<void> => {
    isRunning = true
    while (waiting.size > 0) {
      const began = performance.now()
      pause = new AbortController()
      await round()
      if (waiting.size > 0) await sleep(everyMs - (performance.now() - began), pause.signal)
      if (waiting.size > 0) await sleep(MIN_GAP_MS - (performance.now() - began))
    }
    isRunning = false
  }

  return {
    /** Starts the next round now, if there are waits. */
    wake: (): void => pause?.abort(),
    /** Resolves with the result of `check`. Rejects at the deadline, when `signal` aborts, and when `read` throws. */
    until: <T>({ key = '', check, late, deadline, signal }: Wait<S, T>): Promise<T> =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        let last: { readonly seen: S } | undefined
        const entries = waiting.get(key) ?? new Set()
        const end = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', leave)
          entries.delete(entry)
          if (entries.size === 0 && waiting.get(key) === entries) waiting.delete(key)
        }
        const fail = (reason: unknown): void => {
          end()
          reject(reason)
        }
        const leave = (): void => fail(signal.reason)
        const expire = (): void => {
          if (last !== undefined) fail(late(last.seen))
        }
        const entry: Entry<S> = {
          fail,
          see(seen) {
            if (!entries.has(entry)) return
            const result = check(seen)
            if (result !== undefined) {
              end()
              return resolve(result)
            }
            last = { seen }
            if (performance.now() >= deadline) expire()
          },
        }
        const timer = setTimeout(expire, Math.max(0, deadline - performance.now()))
        signal.addEventListener('abort', leave, { once: true })
        entries.add(entry)
        waiting.set(key, entries)
        if (isRunning) pause?.abort()
        else void run()
      }),
  }
}

import { sleep } from './lifecycle.ts'
import type { Logger } from './log.ts'

/** How a server takes leave before it closes. */
export type Drain = {
  /** Aborts when the server is about to close: it says that it is not ready, and answers on. */
  readonly signal: AbortSignal
  /** Aborts `signal` and waits for those who send requests to hear of it. */
  begin(): Promise<void>
}

/**
 * A drain that takes `ms` milliseconds: longer than whoever balances the load needs to find a server not ready.
 *
 * @example
 * const drain = createDrain({ ms: 5_000, log })
 * closers.add('drain', drain, (it) => it.begin()) // added last, so that it runs first
 */
export const createDrain = ({ ms, log }: { readonly ms: number; readonly log: Logger }): Drain => {
  const leaving = new AbortController()
  return {
    signal: leaving.signal,
    async begin() {
      leaving.abort()
      if (ms === 0) return
      log.info({ ms }, 'not ready any more, closing soon')
      await sleep(ms)
    },
  }
}

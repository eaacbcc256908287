import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'

/** The drain phase of a server, before it closes. */
export type Drain = {
  /** Aborts when the server is about to close: it reports that it is not ready, and still answers requests. */
  readonly signal: AbortSignal
  /** Aborts `signal` and waits until load balancers have noticed that the server is not ready. */
  begin(): Promise<void>
}

/**
 * A drain that takes `ms` milliseconds. That must be longer than the load balancer needs to detect that a server is not
 * ready.
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
      log.info({ ms }, 'draining: not ready from now on, closing after the drain time')
      await sleep(ms)
    },
  }
}

import { MAX_TIMER_MS } from './numbers.ts'

/** Attempts of a request, the first one included. */
export const ATTEMPTS = 5

const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 8_000

/** A service that asks for a longer pause has its error returned, with the pause. */
export const MAX_RETRY_AFTER_MS = 30_000

/** Resolves after a time; a service may name one that no timer can wait. Rejects with the reason of the signal when it is aborted first. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
    const stop = (): void => {
      done()
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        done()
        resolve()
      },
      Math.min(ms, MAX_TIMER_MS),
    )
    signal?.addEventListener('abort', stop)
  })

/**
 * The pause before the next attempt: half of it is fixed, so that the attempts together last as long as a restart of the
 * service, and half is random, so that clients that failed together do not return together. The pause that the service
 * asks for is added.
 */
export const delayOf = (failures: number, retryAfterMs = 0): number =>
  retryAfterMs + ((1 + Math.random()) / 2) * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures)

/** Parses `Retry-After`: seconds or a date. */
export const parseRetryAfter = (header: string | null): number | undefined => {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/**
 * Whether the same request may succeed later. Every request of the API can be repeated: builders, plans and portfolios
 * store nothing, and a transaction that is known answers 200. A 502 of the API names the reason and is returned, while
 * one of a proxy (without a body of the API) means that the service restarts.
 */
export const isTemporary = (status: number, hasBody: boolean): boolean =>
  status === 408 || status === 429 || status === 503 || status === 504 || (status === 502 && !hasBody)

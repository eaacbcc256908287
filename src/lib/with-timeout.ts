/** The outcome of `work`. Rejects with the reason of `signal` as soon as that aborts; `work` may go on. */
export const untilAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const leave = (): void => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })

/**
 * Runs `work` with a signal that aborts with the given one, and after `ms` milliseconds with the error of `late`. Rejects
 * as soon as it aborts.
 *
 * @example await withTimeout((signal) => read(signal), { ms: 3_000, late: () => unavailable('too slow'), signal })
 */
export const withTimeout = <T>(
  work: (signal: AbortSignal) => Promise<T>,
  options: { readonly ms: number; readonly late: () => Error; readonly signal?: AbortSignal },
): Promise<T> => {
  const { ms, late, signal } = options
  const controller = new AbortController()
  const leave = (): void => controller.abort(signal?.reason)
  if (signal?.aborted) leave()
  const timer = setTimeout(() => controller.abort(late()), ms)
  signal?.addEventListener('abort', leave, { once: true })
  return untilAborted(work(controller.signal), controller.signal).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
  })
}

/** Least time between two reconnects of one connection to a Redis that stays read-only, in milliseconds. */
const RECONNECT_EVERY_MS = 1_000

/**
 * For `reconnectOnError` of one connection. After a fail-over the old primary keeps its connections and refuses writes.
 * Only a new connection reaches the new primary under the same name.
 */
export const createReconnectOnError = (): ((error: Error) => boolean) => {
  let reconnectedAt = Number.NEGATIVE_INFINITY
  return ({ message }) => {
    const now = performance.now()
    if (!message.startsWith('READONLY') || now - reconnectedAt < RECONNECT_EVERY_MS) return false
    reconnectedAt = now
    return true
  }
}

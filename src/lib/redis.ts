/** Least time between two reconnects of one connection to a Redis that stays read-only, in milliseconds. */
const RECONNECT_EVERY_MS = 1_000

/**
 * For `reconnectOnError` of one connection. The old primary of a fail-over keeps its connections and refuses writes from then on; only a new
 * connection finds the new primary behind the same name.
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

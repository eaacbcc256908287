import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The time in which a closing server's requests are answered and their responses received, in milliseconds: less than the
 * limit of an orderly stop (`STOP_WITHIN_MS`).
 */
const ANSWER_WITHIN_MS = 7_000

/**
 * Tracks a server's connections. Once `draining` aborts, every response carries `Connection: close`, so that clients
 * reconnect elsewhere between two requests and never in the middle of one. The returned function closes at once every
 * connection without a complete unanswered request: idle ones, and those whose request has arrived only in part, for
 * which the server's own `close` would wait. Each other connection closes after its response, or when the time for
 * that is over, after `answerWithinMs`.
 *
 * @example app.addHook('preClose', closesHalfOpen(app.server, drain.signal))
 */
export const closesHalfOpen = (
  server: Server,
  draining: AbortSignal,
  answerWithinMs = ANSWER_WITHIN_MS,
): (() => Promise<void>) => {
  const connections = new Map<Socket, Set<ServerResponse>>()
  let closing = false
  // The server calls this when it closes. Its own one ends connections whose response is complete and not yet received.
  server.closeIdleConnections = () => {}
  const isWaiting = (socket: Socket): boolean => [...(connections.get(socket) ?? [])].some(({ req }) => req.complete)

  /** Makes each pending response the last one of its connection, unless its headers were already sent. */
  const lastAnswers = (): void => {
    for (const responses of connections.values()) for (const response of responses) response.shouldKeepAlive = false
  }
  draining.addEventListener('abort', lastAnswers, { once: true })

  server.on('connection', (socket) => {
    if (closing) return void socket.destroy()
    connections.set(socket, new Set())
    socket.once('close', () => connections.delete(socket))
  })
  // Runs before the server's own listener, which may have answered by the time it returns.
  server.prependListener('request', (_, response) => {
    if (draining.aborted || closing) response.shouldKeepAlive = false
  })
  server.on('request', ({ socket }, response) => {
    // A response that is already complete and flushed needs no tracking.
    if (response.writableEnded && socket.writableLength === 0) return
    connections.get(socket)?.add(response)
    response.once('close', () => {
      connections.get(socket)?.delete(response)
      if (closing && !isWaiting(socket)) socket.destroySoon()
    })
  })
  return async () => {
    closing = true
    lastAnswers()
    for (const socket of connections.keys()) if (!isWaiting(socket)) socket.destroy()
    setTimeout(() => {
      for (const socket of connections.keys()) socket.destroy()
    }, answerWithinMs).unref()
  }
}

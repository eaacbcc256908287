import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Watches a server's connections. From `draining` on every answer is the last of its connection and says so (`Connection: close`), so that
 * clients go elsewhere between two requests and never in the middle of one. What comes back closes, at once, every connection on which
 * no whole request waits for its answer: idle ones, and those whose request has only half arrived, for which the server's own `close`
 * would wait. The others are closed as they are answered.
 *
 * @example app.addHook('preClose', closesHalfOpen(app.server, drain.signal))
 */
export const closesHalfOpen = (server: Server, draining: AbortSignal): (() => Promise<void>) => {
  const connections = new Map<Socket, Set<ServerResponse>>()
  let closing = false
  const isWaiting = (socket: Socket): boolean => [...(connections.get(socket) ?? [])].some(({ req }) => req.complete)

  /** Makes what is being answered the last on its connection, as far as its head was not sent yet. */
  const lastAnswers = (): void => {
    for (const responses of connections.values()) for (const response of responses) response.shouldKeepAlive = false
  }
  draining.addEventListener('abort', lastAnswers, { once: true })

  server.on('connection', (socket) => {
    if (closing) return void socket.destroy()
    connections.set(socket, new Set())
    socket.once('close', () => connections.delete(socket))
  })
  // Before the server's own listener, which may have answered when it returns.
  server.prependListener('request', (_, response) => {
    if (draining.aborted || closing) response.shouldKeepAlive = false
  })
  server.on('request', ({ socket }, response) => {
    // What was answered at once, and handed over whole, keeps nobody waiting.
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
  }
}

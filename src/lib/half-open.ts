import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Watches a server's connections. What comes back closes, at once, every one on which no whole request waits for its answer: idle
 * ones, and those whose request has only half arrived, for which the server's own `close` would wait. The others are closed as they
 * are answered.
 *
 * @example app.addHook('preClose', closesHalfOpen(app.server))
 */
export const closesHalfOpen = (server: Server): (() => Promise<void>) => {
  const connections = new Map<Socket, Set<IncomingMessage>>()
  let closing = false
  const isWaiting = (socket: Socket): boolean => [...(connections.get(socket) ?? [])].some(({ complete }) => complete)

  server.on('connection', (socket) => {
    if (closing) return void socket.destroy()
    connections.set(socket, new Set())
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', (request, response) => {
    const { socket } = request
    connections.get(socket)?.add(request)
    response.once('close', () => {
      connections.get(socket)?.delete(request)
      if (closing && !isWaiting(socket)) socket.destroySoon()
    })
  })
  return async () => {
    closing = true
    for (const socket of connections.keys()) if (!isWaiting(socket)) socket.destroy()
  }
}

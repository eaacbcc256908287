import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/**
 * A TCP gate in front of a server. While it is shut it breaks open connections and refuses new ones, like a stopped
 * server.
 *
 * @example const gate = await startGate(new URL(databaseUrl))
 */
export const startGate = async (target: URL) => {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the gate has no port')
  const { port } = address
  const url = new URL(target)
  url.port = String(port)
  const shut = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, 'close')
  }
  return { url: url.href, shut, open: () => listen(port), close: shut }
}

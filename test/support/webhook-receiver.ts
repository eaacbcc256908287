import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request that a receiver got. */
export type Received = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string }

/**
 * An HTTP server on this machine that keeps what is posted to it. `answer` decides the response; 204 by default.
 *
 * @example const receiver = await openReceiver()
 */
export const openReceiver = async (
  answer: (response: ServerResponse, got: Received) => void = (response) => void response.writeHead(204).end(),
) => {
  const received: Received[] = []
  let connections = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const got = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() }
      received.push(got)
      answer(response, got)
    })
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/hooks`,
    received,
    connections: () => connections,
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

type Answer = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/**
 * An HTTP server on loopback that answers as configured and records its requests. `answer` gets path and query, and the
 * headers; without one the connection hangs.
 */
export const startPublisher = async (answer: (path: string, headers: IncomingHttpHeaders) => Answer | undefined) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const given = answer(path, request.headers)
    if (given === undefined) return
    response.writeHead(given.status ?? 200, given.headers).end(given.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

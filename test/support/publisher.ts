import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Answer = { readonly status?: number; readonly body: string | Uint8Array }

/**
 * An HTTP server on loopback that answers as configured and records its requests. `answer` gets path and query; without
 * one the connection hangs.
 */
export const startPublisher = async (answer: (path: string) => Answer | undefined) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const given = answer(path)
    if (given === undefined) return
    response.writeHead(given.status ?? 200).end(given.body)
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

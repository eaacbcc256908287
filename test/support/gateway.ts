import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A gateway in front of a service. `cut` breaks its connections, and until `restore` every request gets `status`, or no
 * answer at all without one. `urls` has what arrived, with the position of the header.
 */
export const startGateway = async (target: string) => {
  let down: { readonly status?: number } | null = null
  const urls: string[] = []
  const server = createServer((incoming, outgoing) => {
    const { url = '', headers } = incoming
    urls.push([url, headers['last-event-id']].filter(Boolean).join(' '))
    if (down !== null) {
      if (down.status === undefined) incoming.socket.destroy()
      else outgoing.writeHead(down.status, { 'access-control-allow-origin': '*' }).end('<h1>Bad Gateway</h1>')
      return
    }
    const upstream = request(`${target}${url}`, { method: incoming.method ?? 'GET', headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.on('error', () => outgoing.destroy()).pipe(outgoing)
    })
    upstream.on('error', () => outgoing.destroy()).end()
    outgoing.on('close', () => upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    urls,
    cut(status?: number): void {
      down = status === undefined ? {} : { status }
      server.closeAllConnections()
    },
    restore(): void {
      down = null
    },
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}

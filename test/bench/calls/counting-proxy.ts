import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import { type Counts, emptyCounts } from './figures.ts'

const Call = z.object({ method: z.string() })
const Body = z.union([z.array(Call), Call.transform((call) => [call])])

/** What passed a proxy: the counts, and the calls in each second of Unix time. */
export type Passed = { readonly counts: Counts; readonly perSecond: ReadonlyMap<number, number> }

/**
 * A proxy in front of a node that counts JSON-RPC calls (each item of a batch is one), HTTP requests and the bytes of
 * their bodies, and changes nothing.
 *
 * @example
 * const proxy = await startCountingProxy(anvil.url)
 * proxy.take()
 */
export const startCountingProxy = async (target: string) => {
  let counts = emptyCounts()
  let perSecond = new Map<number, number>()

  const count = (body: Buffer): void => {
    counts.requests += 1
    counts.bytesUp += body.length
    const second = Math.floor(Date.now() / 1_000)
    for (const { method } of Body.parse(JSON.parse(body.toString()))) {
      counts.calls[method] = (counts.calls[method] ?? 0) + 1
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    }
  }

  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    count(body)
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(target, { method: 'POST', headers, body: new Uint8Array(body) })
    const text = Buffer.from(await answer.arrayBuffer())
    counts.bytesDown += text.length
    response.writeHead(answer.status, headers).end(text)
  }

  // A long idle timeout: closing an idle connection while a request arrives would cause a second request.
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    relay(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    /** What passed since the last call of this function. */
    take(): Passed {
      const passed = { counts, perSecond }
      counts = emptyCounts()
      perSecond = new Map()
      return passed
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

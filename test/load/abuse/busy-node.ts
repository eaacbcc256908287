import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConcurrencyLimit } from '../../../src/lib/concurrency-limit.ts'
import { quantile } from '../../faults/target.ts'
import { BURNER_MARK, burnerOf } from './burners.ts'

/** Requests that the node executes at once; further ones wait in order. */
const AT_ONCE = 4
const MAX_WAITING = 10_000

/** The longest that one request occupies the node, in milliseconds. */
const MAX_MS = 10_000

const isHeavy = (body: string): boolean => body.includes('debug_trace') || body.toLowerCase().includes(BURNER_MARK)

const post = async (url: string, body: string): Promise<string> =>
  (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()

/** The milliseconds that a node takes to spend all the gas of one call. */
const burnMs = async (url: string): Promise<number> => {
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: burnerOf(0), data: '0x' }, 'latest'] }
  const times: number[] = []
  for (let at = 0; at < 5; at += 1) {
    const began = performance.now()
    await post(url, JSON.stringify(call))
    times.push(performance.now() - began)
  }
  return quantile(times, 0.5)
}

/**
 * A node that executes slowly. Requests that trace, or that run the code of a burner, occupy one of four places for
 * longer than they take `target`, by a factor that makes a call with all gas take `burn` milliseconds. They occupy it
 * even after their client has left, as nodes do. Every other request takes what it takes, and waits while all places are
 * occupied.
 */
export const startBusyNode = async (options: {
  readonly target: string
  /** The node to measure, without what is in front of it. */
  readonly node: string
  readonly burn: number
}) => {
  const { target, node, burn } = options
  const factor = burn / (await burnMs(node))
  const inTurn = createConcurrencyLimit({
    ...{ atOnce: AT_ONCE, waiting: MAX_WAITING },
    refuse: () => new RangeError('too many requests wait for the node'),
  })
  let heavy = 0
  let heavyMs = 0

  const execute = async (body: string): Promise<string> => {
    const began = performance.now()
    const answer = await post(target, body)
    if (!isHeavy(body)) return answer
    const took = Math.min(MAX_MS, (performance.now() - began) * factor)
    heavy += 1
    heavyMs += took
    await sleep(took)
    return answer
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    response.end(await inTurn(() => execute(body)))
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    // The node behind it does not answer.
    serve(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the node has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    factor,
    /** The slow requests so far, and the milliseconds that they occupied the node. */
    counts: () => ({ heavy, heavyMs }),
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

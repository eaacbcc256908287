import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createConcurrencyLimit } from '../../../src/lib/concurrency-limit.ts'
import { createRpc, type RpcAnswer, type RpcCall } from '../../faults/rpc.ts'
import { BURNER_MARK } from './burners.ts'

/** Requests that the node executes at once; further ones wait in order. */
const AT_ONCE = 4
const MAX_WAITING = 10_000

const isHeavy = (body: string): boolean => body.includes('debug_trace') || body.toLowerCase().includes(BURNER_MARK)

const post = async (url: string, body: string): Promise<string> =>
  (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()

const Trace = z.object({ gasUsed: z.string() })
const Simulated = z.array(z.object({ calls: z.array(Trace) }))

/** The tracer that reports the gas of a call and nothing else. */
const TOP_CALL = { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } }

/** The gas that a node used for a call: as its answer reports it, else as a trace of the same call does. */
const gasOf = async (node: string, { method, params }: RpcCall, result: unknown): Promise<number> => {
  if (method === 'debug_traceTransaction') return Number(Trace.safeParse(result).data?.gasUsed ?? 0)
  if (method === 'eth_simulateV1') {
    const blocks = Simulated.safeParse(result).data ?? []
    return blocks.flatMap(({ calls }) => calls).reduce((total, { gasUsed }) => total + Number(gasUsed), 0)
  }
  if (!['eth_call', 'eth_estimateGas'].includes(method)) return 0
  const [call, block, stateOverrides, blockOverrides] = params
  const overrides = {
    ...(stateOverrides !== undefined && { stateOverrides }),
    ...(blockOverrides !== undefined && { blockOverrides }),
  }
  const traced = await createRpc(node).send('debug_traceCall', [call, block, { ...TOP_CALL, ...overrides }])
  return Number(Trace.parse(traced).gasUsed)
}

/**
 * A node with a limited speed. A request that traces, or that runs the code of a burner, occupies one of four places for
 * the time that its gas takes. It does so even after its client has left, as with real nodes. Every other request takes
 * what it takes, and waits while all places are occupied.
 */
export const startBusyNode = async (options: {
  readonly target: string
  /** The node itself, without what is in front of it, which reports the gas. */
  readonly node: string
  readonly gasPerSecond: number
}) => {
  const { target, node, gasPerSecond } = options
  const inTurn = createConcurrencyLimit({
    ...{ atOnce: AT_ONCE, waiting: MAX_WAITING },
    refuse: () => new RangeError('too many requests wait for the node'),
  })
  let heavy = 0
  let heavyMs = 0

  const execute = async (body: string): Promise<string> => {
    const answer = await post(target, body)
    if (!isHeavy(body)) return answer
    const calls: RpcCall[] = [JSON.parse(body)].flat()
    const answers: RpcAnswer[] = [JSON.parse(answer)].flat()
    const gas = await Promise.all(
      calls.map((call) => gasOf(node, call, answers.find(({ id }) => id === call.id)?.result)),
    )
    const took = (gas.reduce((total, each) => total + each, 0) * 1_000) / gasPerSecond
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
    /** The slow requests so far, and the milliseconds that they occupied the node. */
    counts: () => ({ heavy, heavyMs }),
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

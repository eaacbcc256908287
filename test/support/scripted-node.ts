import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { numberToHex, pad } from 'viem'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

const Call = z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) })
export type ScriptedCall = z.infer<typeof Call>

/** An error the node gives. */
type Failure = { readonly code: number; readonly message: string; readonly data?: unknown }

/** The answer to a whole HTTP request. `hang`: no answer. Null: the answer of the honest node. */
export type Reply = (calls: readonly ScriptedCall[], isBatch: boolean) => Said | Promise<Said>

type Said =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body: string | Buffer }
  | 'hang'
  | null

/** The number of blocks in a request for logs; null for any other call. */
export const widthOf = ({ method, params: [filter] }: ScriptedCall): number | null => {
  if (method !== 'eth_getLogs') return null
  const { fromBlock, toBlock } = z.object({ fromBlock: z.string(), toBlock: z.string() }).parse(filter)
  return Number(toBlock) - Number(fromBlock) + 1
}

/**
 * A node on a real socket that serves an empty chain until a test changes its answers. Use it for answers that a real
 * node does not give.
 */
export const startScriptedNode = async (options: { readonly chainId?: number; readonly height?: number } = {}) => {
  let reply: Reply = () => null
  let refusal: (call: ScriptedCall) => Failure | null = () => null
  const seen: ScriptedCall[][] = []
  const node = {
    chainId: options.chainId ?? 8453,
    height: options.height ?? 1_000_000,
    /** Unix seconds of its newest block. */
    time: Math.floor(Date.now() / 1_000),
  }

  const blockAt = (tag: unknown) => {
    const number = typeof tag === 'string' && tag.startsWith('0x') ? Number(tag) : node.height
    if (number > node.height) return null
    const timestamp = numberToHex(node.time - (node.height - number))
    return { number: numberToHex(number), hash: pad(numberToHex(number)), timestamp }
  }
  const answer = ({ method, params: [first] }: ScriptedCall): unknown => {
    if (method === 'eth_chainId') return numberToHex(node.chainId)
    if (method === 'eth_getBlockByNumber') return blockAt(first)
    return method === 'eth_getLogs' ? [] : '0x01'
  }

  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => null)
    // The client disconnected before its request was complete.
    if (body === null) return
    const parsed: unknown = JSON.parse(body)
    const isBatch = Array.isArray(parsed)
    const calls = z.array(Call).parse(isBatch ? parsed : [parsed])
    seen.push(calls)
    const said = await reply(calls, isBatch)
    if (said === 'hang') return
    const answers = calls.map((call) => {
      const error = refusal(call)
      return { jsonrpc: '2.0', id: call.id, ...(error === null ? { result: answer(call) } : { error }) }
    })
    const plain = { body: JSON.stringify(isBatch ? answers : answers[0]) }
    const { status, headers, body: answered } = { headers: {}, status: 200, ...(said ?? plain) }
    response.writeHead(status, headers).end(answered)
  }).listen(0, '127.0.0.1')
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the node has no port')
  return Object.assign(node, {
    /** Its path stands for a provider's key. */
    url: `http://127.0.0.1:${address.port}/secret-key`,
    say(next: Reply): void {
      reply = next
    },
    /** Rejects some calls. The other calls of a batch are answered honestly. */
    refuse(fault: (call: ScriptedCall) => Failure | null): void {
      refusal = fault
    },
    heal(): void {
      reply = () => null
      refusal = () => null
    },
    /**
     * The HTTP requests since the last call of this function, except those that only ask which chain and block it is
     * at.
     */
    requests: (): ScriptedCall[][] =>
      seen.splice(0).filter((calls) => calls.length !== 2 || calls[0]?.method !== 'eth_chainId'),
    /** Connections that are open now, with a request under way or without. */
    connections: (): number => sockets.size,
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

/** The same for one test, closed when it is over. */
export const startNode = async (...options: Parameters<typeof startScriptedNode>) => {
  const node = await startScriptedNode(...options)
  onTestFinished(node.close)
  return node
}

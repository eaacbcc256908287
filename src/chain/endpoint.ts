import { Agent, request as httpRequest } from 'undici'
import { isHex } from 'viem'
import { z } from 'zod'
import { NodeError, NodeUnreachable } from './errors.ts'
import type { Request } from './requests.ts'

/** The answer to one request: its value, or the error the node gave for it. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: NodeError }

export type Outcomes<T extends readonly Request<unknown>[]> = {
  [K in keyof T]: T[K] extends Request<infer V> ? Outcome<V> : never
}

/** One node behind one URL. */
export type Endpoint = {
  /** Sends the batch as one HTTP request. Throws NodeUnreachable when the node gives no usable answer. */
  send(requests: readonly Request<unknown>[], signal?: AbortSignal): Promise<Outcome<unknown>[]>
  close(): Promise<void>
}

const Answer = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
})

/**
 * A JSON-RPC endpoint over HTTP with kept-alive connections. A batch answered by fewer items than asked, by another id or by
 * something that is not JSON is no answer at all: a balancer between us and the node may produce each of these.
 */
export const createEndpoint = (options: { readonly url: string; readonly timeoutMs: number }): Endpoint => {
  const agent = new Agent({ connections: 32, keepAliveTimeout: 30_000, connect: { timeout: options.timeoutMs } })

  const post = async (body: string, signal: AbortSignal | undefined): Promise<unknown> => {
    const timeout = AbortSignal.timeout(options.timeoutMs)
    try {
      const response = await httpRequest(options.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        dispatcher: agent,
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      })
      return JSON.parse(await response.body.text())
    } catch (cause) {
      // The cause holds the URL, which may hold a key: it is for debugging in process, the message is for everybody.
      throw new NodeUnreachable(`node gave no answer (${cause instanceof Error ? cause.name : 'unknown fault'})`, {
        cause,
      })
    }
  }

  return {
    async send(requests, signal) {
      const calls = requests.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
      const raw = await post(JSON.stringify(calls), signal)
      const answers = z.array(Answer).safeParse(raw)
      if (!answers.success) throw new NodeUnreachable(`node answered a batch with something else (${describe(raw)})`)
      const byId = new Map(answers.data.map((answer) => [answer.id, answer]))
      return requests.map((request, id) => {
        const answer = byId.get(id)
        if (answer === undefined) throw new NodeUnreachable('node left out an answer of a batch')
        if (answer.error !== undefined) return { ok: false, error: toNodeError(answer.error) }
        return parseResult(request, answer.result)
      })
    },
    close: () => agent.close(),
  }
}

const parseResult = (request: Request<unknown>, result: unknown): Outcome<unknown> => {
  // An address without the function answers a call with no bytes: the node did answer, the answer is "nothing there".
  if (request.method === 'eth_call' && result === '0x') {
    return { ok: false, error: new NodeError(3, 'execution reverted: no code or function at the address') }
  }
  try {
    return { ok: true, value: request.parse(result) }
  } catch (cause) {
    throw new NodeUnreachable(`node answered ${request.method} with another shape`, { cause })
  }
}

const toNodeError = (error: { code: number; message: string; data?: unknown }): NodeError =>
  new NodeError(error.code, error.message, typeof error.data === 'string' && isHex(error.data) ? error.data : undefined)

/** What a batch was answered with, for the log: providers refuse a whole batch by one error object. */
const describe = (raw: unknown): string => {
  const refusal = z.object({ error: z.object({ message: z.string() }) }).safeParse(raw)
  return refusal.success ? refusal.data.error.message : typeof raw
}

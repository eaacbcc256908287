import { Agent, request as httpRequest } from 'undici'
import { z } from 'zod'
import { OversizedJson, readJson } from '../lib/read-json.ts'
import { createScrub, partsOf } from '../lib/secrets.ts'
import { truncate } from '../lib/truncate.ts'
import { NodeError, NodeUnreachable, redactUrls } from './errors.ts'
import { classify, type Fault } from './faults.ts'
import type { Request } from './requests.ts'
import { liftLogs } from './scan-logs.ts'

/** The answer to one request: its value, or the error the node gave for it. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: NodeError }

export type Outcomes<T extends readonly Request<unknown>[]> = {
  [K in keyof T]: T[K] extends Request<infer V> ? Outcome<V> : never
}

/** What one endpoint said to a batch; `endpoint` is its index in the configuration. */
export type Said<T extends readonly Request<unknown>[]> = { readonly endpoint: number; readonly outcomes: Outcomes<T> }

export type SendOptions = {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds to wait for the answer, where that is less than what the endpoint is given otherwise. */
  readonly timeoutMs?: number | undefined
}

/** Sends a request as it is and not in an array, for nodes that take no batches; then there is only one. */
type Alone = { readonly alone?: boolean }

/** One node behind one URL. */
export type Endpoint = {
  /** Sends the batch as one HTTP request. Throws NodeUnreachable when the node gives no usable answer. */
  send(requests: readonly Request<unknown>[], options?: SendOptions & Alone): Promise<Outcome<unknown>[]>
  /** Sends what follows over new connections: those of a node that was away may be dead without a word. What is under way goes on. */
  renew(): void
  close(): Promise<void>
}

const Failure = z.object({ code: z.number(), message: z.string().transform(truncate), data: z.unknown().optional() })
const Answer = z.object({ id: z.number(), result: z.unknown().optional(), error: Failure.optional() })
const Answers = z.array(Answer)
/** A batch refused by one object, as providers do; which request it means is left to the reader. */
const Refused = z.object({ error: Failure })

type Reply = { readonly status: number; readonly retryAfter: string | undefined; readonly raw: unknown }

/**
 * A JSON-RPC endpoint over HTTP with kept-alive connections. A batch answered by fewer items than asked, by another id or by
 * something that is not JSON is no answer at all: a balancer between us and the node may produce each of these.
 */
export const createEndpoint = (options: { readonly url: string; readonly timeoutMs: number }): Endpoint => {
  const open = (): Agent =>
    new Agent({ connections: 32, keepAliveTimeout: 30_000, connect: { timeout: options.timeoutMs } })
  let agent = open()
  // A node's words are relayed to clients, and some repeat the key they were asked with.
  const hide = createScrub(partsOf(options.url))
  const scrub = (text: string): string => hide(redactUrls(text))
  const leaving = new Set<Promise<void>>()

  const post = async (
    requests: readonly Request<unknown>[],
    body: string,
    { signal, timeoutMs = options.timeoutMs }: SendOptions,
  ): Promise<Reply> => {
    const timeout = AbortSignal.timeout(Math.min(timeoutMs, options.timeoutMs))
    try {
      const {
        statusCode,
        headers,
        body: answer,
      } = await httpRequest(options.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        dispatcher: agent,
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      })
      const after = headers['retry-after']
      return {
        status: statusCode,
        retryAfter: typeof after === 'string' ? after : undefined,
        raw: await readJson(answer, maxBytesOf(requests), hasLogs(requests) ? liftLogs : undefined),
      }
    } catch (cause) {
      if (cause instanceof OversizedJson) {
        const fault: Fault = cause.kind === 'size' ? tooLong(requests) : { kind: 'garbage' }
        throw new NodeUnreachable(`the node's answer is ${cause.message}`, fault)
      }
      // The cause holds the URL, which may hold a key: it is for debugging in process, the message is for everybody.
      const name = cause instanceof Error ? cause.name : 'unknown fault'
      throw new NodeUnreachable(`node gave no answer (${name})`, { kind: 'unanswered' }, { cause })
    }
  }

  return {
    async send(requests, { alone = false, ...within } = {}) {
      const calls = requests.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
      const { raw, ...http } = await post(requests, JSON.stringify(alone ? calls[0] : calls), within)
      const given = alone ? [raw] : raw
      // Nothing of a list that is too long is looked at: there is a fault to each of its elements.
      const answers = Array.isArray(given) && given.length <= requests.length ? Answers.safeParse(given) : null
      if (!answers?.success) throw refusedAltogether(http, raw, scrub)
      const byId = new Map(answers.data.map((answer) => [answer.id, answer]))
      return requests.map((request, id) => {
        const answer = byId.get(id)
        if (answer === undefined) throw new NodeUnreachable('node left out an answer', { kind: 'garbage' })
        if (answer.error !== undefined)
          return { ok: false, error: new NodeError({ ...http, ...answer.error, message: scrub(answer.error.message) }) }
        return parseResult(request, answer.result)
      })
    },
    renew() {
      const left: Promise<void> = agent.close().finally(() => leaving.delete(left))
      leaving.add(left)
      agent = open()
    },
    async close() {
      await Promise.all([agent.close(), ...leaving])
    },
  }
}

const MIB = 2 ** 20

/** Longest answer that is read, in bytes: a node without limits of its own would fill our memory. */
const MAX_BYTES = 16 * MIB

const hasLogs = (requests: readonly Request<unknown>[]): boolean =>
  requests.some(({ method }) => method === 'eth_getLogs')

/** Bytes that an answer may have: logs come by the ten thousand, and nothing else is longer than 1 MiB. */
const maxBytesOf = (requests: readonly Request<unknown>[]): number => {
  const calls = requests.reduce((sum, { views = 1 }) => sum + views, 0)
  return hasLogs(requests) ? MAX_BYTES : Math.min(calls * MIB, MAX_BYTES)
}

/** What an answer that is too long means: the chain's contents make logs and views long, and the node itself all else. */
const tooLong = (requests: readonly Request<unknown>[]): Fault => {
  if (requests.some(({ method }) => method === 'eth_getLogs' || method === 'eth_call')) {
    return { kind: 'size', usable: null }
  }
  return requests.length > 1 ? { kind: 'batch', most: null } : { kind: 'garbage' }
}

const refusedAltogether = (
  http: Omit<Reply, 'raw'>,
  raw: unknown,
  scrub: (text: string) => string,
): NodeUnreachable => {
  const refused = Refused.safeParse(raw)
  if (!refused.success) {
    const fault = classify({ ...http, message: '' })
    return new NodeUnreachable(
      `node answered with something else (HTTP ${http.status})`,
      fault.kind === 'other' ? { kind: 'garbage' } : fault,
    )
  }
  const fault = classify({ ...http, ...refused.data.error })
  // In words nobody knows, it is the batch that was refused: each request has an answer of its own otherwise.
  return new NodeUnreachable(
    `node refused the batch: ${scrub(refused.data.error.message)}`,
    fault.kind === 'other' ? { kind: 'batch', most: null } : fault,
  )
}

const parseResult = (request: Request<unknown>, result: unknown): Outcome<unknown> => {
  try {
    return { ok: true, value: request.parse(result) }
  } catch (cause) {
    if (cause instanceof NodeError) return { ok: false, error: cause }
    throw new NodeUnreachable(`node answered ${request.method} with another shape`, { kind: 'garbage' }, { cause })
  }
}

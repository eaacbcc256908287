import { Agent, request as httpRequest } from 'undici'
import { z } from 'zod'
import { type ExtractPart, OversizedJson, readJson } from '../../lib/http/read-json.ts'
import { truncate } from '../../lib/http/truncate.ts'
import { createScrub, partsOf } from '../../lib/observe/secrets.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import { NodeError, NodeUnreachable, redactUrls } from './errors.ts'
import { classify, type Fault } from './faults.ts'
import { collectOdd, type Odd } from './odd.ts'
import type { Request } from './requests.ts'
import { extractLogs } from './scan-logs.ts'

/** The answer to one request: its value, or the error the node gave for it. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: NodeError }

export type SendOptions = {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds to wait for the answer, at most the endpoint's own time-out. */
  readonly timeoutMs?: number | undefined
  /** The requests run foreign code: their failure does not count against the endpoint. */
  readonly foreign?: boolean | undefined
}

type HttpOptions = {
  /** Sends the only request without an array around it, for nodes that accept no batches. */
  readonly alone?: boolean
  /** Gets the odd forms of the answer. */
  readonly odd?: Set<Odd>
}

/** One node behind one URL. */
export type Transport = {
  /** Sends the batch as one HTTP request. Throws NodeUnreachable when the node gives no usable answer. */
  send(requests: readonly Request<unknown>[], options?: SendOptions & HttpOptions): Promise<Outcome<unknown>[]>
  /**
   * Opens new connections for further requests, since those to a node that was down may be dead. Requests under way go
   * on.
   */
  renew(): void
  close(): Promise<void>
}

const Failure = z.object({
  code: z.union([z.number(), z.string().regex(/^-?\d{1,9}$/)]),
  message: z.string().transform(truncate),
  data: z.unknown().optional(),
})
const Answer = z.object({
  id: z.union([z.number(), z.string().regex(/^\d{1,9}$/)]),
  result: z.unknown().optional(),
  error: Failure.nullish(),
})
/** Null for an item of another shape: it may be one that was not asked for. */
const Answers = z.array(Answer.nullable().catch(null))
/** One error for the whole batch, as some providers send. */
const Refused = z.object({ error: Failure })

type Reply = { readonly status: number; readonly retryAfter: string | undefined; readonly raw: unknown }

/**
 * A JSON-RPC endpoint over HTTP with keep-alive connections. An answer that lacks an item, has far too many or is not
 * JSON is rejected as a whole: a load balancer in front of the node may produce each of these.
 */
export const createTransport = (options: { readonly url: string; readonly timeoutMs: number }): Transport => {
  const open = (): Agent =>
    new Agent({ connections: 32, keepAliveTimeout: 30_000, connect: { timeout: options.timeoutMs } })
  let agent = open()
  // Node texts are relayed to clients, and some contain the key of the request.
  const hide = createScrub(partsOf(options.url))
  const scrub = (text: string): string => hide(redactUrls(text))
  const leaving = new Set<Promise<void>>()
  let isClosed = false

  const post = async (
    requests: readonly Request<unknown>[],
    body: string,
    { signal, timeoutMs = options.timeoutMs, odd }: SendOptions & HttpOptions,
  ): Promise<Reply> => {
    const exchange = async (within: AbortSignal): Promise<Reply> => {
      const {
        statusCode,
        headers,
        body: answer,
      } = await httpRequest(options.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        dispatcher: agent,
        signal: within,
      })
      const after = headers['retry-after']
      return {
        status: statusCode,
        retryAfter: typeof after === 'string' ? after : undefined,
        raw: await readAnswer(answer, requests, () => odd?.add('compressed')),
      }
    }
    try {
      return await withTimeout(exchange, {
        ms: Math.min(timeoutMs, options.timeoutMs),
        late: () => new DOMException('the node did not answer in time', 'TimeoutError'),
        ...(signal && { signal }),
      })
    } catch (cause) {
      if (cause instanceof OversizedJson) {
        const fault: Fault = cause.kind === 'size' ? tooLong(requests) : { kind: 'garbage' }
        throw new NodeUnreachable(`the node's answer is ${cause.message}`, fault)
      }
      // The cause holds the URL, which may hold a key: it is only for debugging within the process.
      const name = cause instanceof Error ? cause.name : 'unknown fault'
      throw new NodeUnreachable(`node gave no answer (${name})`, { kind: 'unanswered' }, { cause })
    }
  }

  return {
    async send(requests, { alone = false, ...within } = {}) {
      const calls = requests.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
      const { raw, ...http } = await post(requests, JSON.stringify(alone ? calls[0] : calls), within)
      const given = alone ? [raw] : raw
      // A list that is far too long is not parsed: each invalid element would add an error.
      const isBounded = Array.isArray(given) && given.length <= 2 * requests.length + FEW_ITEMS
      const items = isBounded ? Answers.parse(given) : [null]
      const answers = items.filter((item) => item !== null)
      if (answers.length === 0 && items.length > 0) throw refusedAltogether(http, raw, scrub)
      if (items.length > requests.length) within.odd?.add('extra')
      if (answers.some(({ id }) => typeof id === 'string')) within.odd?.add('id')
      if (answers.some(({ error }) => error === null || typeof error?.code === 'string')) within.odd?.add('error')
      // Of two answers to one request the first counts.
      const byId = new Map(answers.toReversed().map((answer) => [Number(answer.id), answer]))
      return requests.map((request, id) => {
        const answer = byId.get(id)
        if (answer === undefined) throw new NodeUnreachable('node left out an answer', { kind: 'garbage' })
        const { error } = answer
        if (error != null) {
          const refusal = { ...error, code: Number(error.code), message: scrub(error.message) }
          return { ok: false, error: new NodeError({ ...http, ...refusal }) }
        }
        return collectOdd(within.odd, () => parseResult(request, answer.result))
      })
    },
    renew() {
      // The end of a request that a close aborted is no reason for new connections.
      if (isClosed) return
      const left: Promise<void> = agent.close().finally(() => leaving.delete(left))
      leaving.add(left)
      agent = open()
    },
    async close() {
      isClosed = true
      await Promise.all([agent.close(), ...leaving])
    },
  }
}

const MIB = 2 ** 20

/** Items of an answer that are accepted in addition to twice as many as requests. */
const FEW_ITEMS = 4

const LOGS = '"logs":['

/** Leaves out the elements of `logs` before a receipt is parsed. Their texts are hex and contain no brackets. */
const leaveOutLogs: ExtractPart = (text) => {
  const found = text.indexOf(`${LOGS}{`)
  const end = text.indexOf('}]', found) + 1
  if (found === -1 || end === 0) return null
  const rest = Buffer.concat([text.subarray(0, found + LOGS.length), text.subarray(end)])
  return { rest, values: 0, restore: (parsed) => parsed }
}

const readAnswer = (
  answer: AsyncIterable<Uint8Array>,
  requests: readonly Request<unknown>[],
  onCompressed: () => void,
): Promise<unknown> => {
  const [{ withoutLogs = false, maxBytes = MIB } = {}] = requests
  if (withoutLogs && requests.length === 1) return readJson(answer, maxBytes, leaveOutLogs, onCompressed)
  return readJson(answer, maxBytesOf(requests), hasLogs(requests) ? extractLogs : undefined, onCompressed)
}

/** The longest answer that is read, in bytes, so a node cannot fill our memory. */
const MAX_BYTES = 16 * MIB

const hasLogs = (requests: readonly Request<unknown>[]): boolean =>
  requests.some(({ method }) => method === 'eth_getLogs')

/** The most bytes of an answer: 16 MiB with logs, else 1 MiB for each call unless the request has its own limit. */
const maxBytesOf = (requests: readonly Request<unknown>[]): number => {
  const bytes = requests.reduce((sum, { views = 1, maxBytes = views * MIB }) => sum + maxBytes, 0)
  return hasLogs(requests) ? MAX_BYTES : Math.min(bytes, MAX_BYTES)
}

/**
 * The fault of an answer that is too long: logs, what contracts return, and requests with a limit of their own grow
 * with the chain's contents, anything else is the node's fault.
 */
const tooLong = (requests: readonly Request<unknown>[]): Fault => {
  const growing = ['eth_getLogs', 'eth_call', 'eth_estimateGas', 'eth_simulateV1']
  if (requests.some(({ method, maxBytes }) => growing.includes(method) || maxBytes !== undefined)) {
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
  const { error } = refused.data
  const fault = classify({ ...http, ...error, code: Number(error.code) })
  // An unknown text refuses the batch, because a refused request would have an answer of its own.
  return new NodeUnreachable(
    `node refused the batch: ${scrub(error.message)}`,
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

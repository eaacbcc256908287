import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { uniforms } from '../../src/lib/random.ts'
import { creationTopics } from './creations.ts'
import { createHighHead } from './high-head.ts'
import { createRpc, heightOf, hex, type RpcAnswer, type RpcCall } from './rpc.ts'
import { createStale } from './stale.ts'
import type { Turns } from './turns.ts'

/** Methods that read the state of a block. */
const ofState: readonly string[] = ['eth_call', 'eth_getStorageAt']

/** What a rule answers to a whole HTTP request instead of the node. */
const transports = {
  /** Closes the connection without an answer. */
  drop: (response: ServerResponse): void => void response.destroy(),
  hang: (): void => {},
  limited: (response: ServerResponse): void =>
    void response
      .writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' })
      .end('{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rate limit exceeded"}}'),
  failing: (response: ServerResponse): void => void response.writeHead(503).end('upstream connect error'),
  html: (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Just a moment...</body></html>'),
  garbage: (response: ServerResponse, uniform: () => number): void =>
    void response.end(Buffer.from(Array.from({ length: 200 }, () => Math.floor(uniform() * 256)))),
} as const

/** How a rule sends the node's answer. */
const deliveries = {
  /** In eight pieces over about two seconds. */
  slow: async (response: ServerResponse, body: string): Promise<void> => {
    const size = Math.ceil(body.length / 8)
    for (let at = 0; at < body.length && !response.destroyed; at += size) {
      response.write(body.slice(at, at + size))
      await sleep(250)
    }
    response.end()
  },
  /** Compressed, without the header that names the encoding. */
  gzip: (response: ServerResponse, body: string): void => void response.end(gzipSync(body)),
} as const

/** What a rule does to the items of a batch's answer. */
const envelopes = {
  stringIds: (items: readonly object[]): object[] => items.map((item) => ({ ...item, id: String(Object(item).id) })),
  extraItem: (items: readonly object[]): object[] => [...items, { jsonrpc: '2.0', id: 1_000_000, result: null }],
} as const

const withResult = (result: unknown, change: (list: readonly unknown[]) => readonly unknown[]): unknown =>
  Array.isArray(result) ? change(result) : result

/** What a rule does to the answer to one call. */
const answers = {
  empty: (result: unknown): unknown => withResult(result, () => []),
  truncate: (result: unknown, uniform: () => number): unknown =>
    withResult(result, (list) => list.slice(0, Math.floor(uniform() * list.length))),
  /** Only the logs of creations, like a protocol that emits no others. */
  creationsOnly: (result: unknown): unknown =>
    withResult(result, (list) => list.filter((log) => creationTopics.includes(Object(log).topics[0]))),
  /** The block of another fork at the correct height. */
  wrongHash: (result: unknown, uniform: () => number): unknown => {
    if (typeof result !== 'object' || result === null || !('hash' in result)) return result
    const digit = (): string => Math.floor(uniform() * 16).toString(16)
    return { ...result, hash: `0x${Array.from({ length: 64 }, digit).join('')}` }
  },
  /** A newest block that is preconfirmed: it has no hash yet. */
  noHash: (result: unknown, _: unknown, { params }: RpcCall): unknown =>
    params[0] === 'latest' ? { ...Object(result), hash: null } : result,
  /** Without the logs of some blocks. */
  withhold: (result: unknown, _: unknown, __: RpcCall, { hides = () => false }: Rule): unknown =>
    withResult(result, (list) => list.filter((log) => !hides(Number(Object(log).blockNumber)))),
  /** With the logs of a block that a reorg removed. */
  removed: (result: unknown): unknown =>
    withResult(result, (list) => [
      ...list,
      ...list.map((log) => ({ ...Object(log), blockHash: OTHER_HASH, transactionHash: OTHER_HASH, removed: true })),
    ]),
  /** Each log twice, at two indexes. */
  doubled: (result: unknown): unknown =>
    withResult(result, (list) =>
      list.flatMap((log) => [log, { ...Object(log), logIndex: hex(Number(Object(log).logIndex) + 1_000) }]),
    ),
  /** Numbers in place of hex. */
  numbers: (result: unknown): unknown =>
    withResult(result, (list) => list.map((log) => ({ ...Object(log), logIndex: Number(Object(log).logIndex) }))),
} as const

const OTHER_HASH = `0x${'d'.repeat(64)}`

/** An answer that omitted creations: Unix milliseconds, and the blocks of the omitted logs. */
export type Falsified = { readonly at: number; readonly blocks: readonly number[] }

/** The blocks of the creations that one list of logs has and the other lacks. */
const hidden = (whole: unknown, part: unknown): number[] => {
  if (!Array.isArray(whole) || !Array.isArray(part)) return []
  const lost = whole
    .slice(part.length)
    .map(Object)
    .filter(({ topics }) => creationTopics.includes(topics?.[0]))
  return [...new Set(lost.map(({ blockNumber }) => Number(blockNumber)))]
}

export type Fault =
  | keyof typeof transports
  | keyof typeof deliveries
  | keyof typeof envelopes
  | keyof typeof answers
  | keyof typeof refusals
  | keyof typeof nodes

const has = <T extends object>(table: T, name: PropertyKey): name is keyof T => Object.hasOwn(table, name)

export type Rule = {
  readonly fault: Fault
  /** Requests or calls of this method only; all unless given. */
  readonly method?: string
  /** Part of the requests, or of the calls for a fault of an answer, from 0 to 1; all unless given. */
  readonly share?: number
  /**
   * `stale`: how many blocks the reported head is behind the node's. `narrow`: the widest range of logs it gives.
   * `pruned`: how many of the newest blocks it has logs of.
   */
  readonly blocks?: number
  /** `stale`, `highHead`: whether logs past the real head are refused, instead of left out. */
  readonly refuses?: boolean
  /** `highHead`: the height that it reports instead of the node's head. */
  readonly height?: (head: number) => bigint
  /** `withhold`: whether the logs of a block are left out now. */
  readonly hides?: (block: number) => boolean
  /** `elsewhere`: the node that answers, of another chain or on another fork. */
  readonly url?: string
  /** Milliseconds since the rules were set. */
  readonly from?: number
  readonly until?: number
}

const widthOf = (filter: unknown): number => {
  const { fromBlock, toBlock } = Object(filter)
  return (heightOf(toBlock) ?? 0) - (heightOf(fromBlock) ?? 0) + 1
}

/** The error of a request that this kind of node rejects; undefined for a request that it serves. */
const refusals = {
  narrow: ({ method, params }: RpcCall, { blocks = 1 }: Rule): RpcAnswer['error'] =>
    method === 'eth_getLogs' && widthOf(params[0]) > blocks
      ? { code: -32602, message: `query exceeds max block range ${blocks}` }
      : undefined,
  /** As the public nodes of chain 56 do. */
  noLogs: ({ method }: RpcCall): RpcAnswer['error'] =>
    method === 'eth_getLogs' ? { code: -32005, message: 'limit exceeded' } : undefined,
  /** As nodes with EIP-4444: they have the logs of the newest blocks only. */
  pruned: ({ method, params }: RpcCall, { blocks = 0 }: Rule, head: number): RpcAnswer['error'] =>
    method === 'eth_getLogs' && (heightOf(Object(params[0]).fromBlock) ?? head) <= head - blocks
      ? { code: 4444, message: 'pruned history unavailable' }
      : undefined,
} as const

type Node = (calls: readonly RpcCall[]) => Promise<RpcAnswer[]>

const honest =
  (target: string): Node =>
  async (calls) => {
    const answers = await createRpc(target).batch(calls.map(({ method, params }) => ({ method, params })))
    return answers.map((it, at) => ({ ...it, id: calls[at]?.id ?? 0 }))
  }

/** Another node that answers whole requests. */
const nodes = {
  stale: ({ blocks = 1, refuses = false }: Rule, target: string): Node => createStale(blocks, target, refuses),
  highHead: ({ height = BigInt, refuses = false }: Rule, target: string): Node =>
    createHighHead(height, target, refuses),
  elsewhere: ({ url }: Rule, target: string): Node => honest(url ?? target),
} as const

/**
 * A JSON-RPC proxy between the service and a real node that misbehaves by rules. Its random choices depend only on the
 * seed and on the order of the requests.
 *
 * @example
 * const proxy = await startFaultProxy({ target: anvil.url, seed: 7 })
 * proxy.set([{ fault: 'empty', method: 'eth_getLogs', share: 0.2 }, { fault: 'hang', from: 5_000, until: 8_000 }])
 */
export const startFaultProxy = async (options: {
  readonly target: string
  readonly seed: number
  /** Rules that hold whatever others are set. */
  readonly always?: readonly Rule[]
  /** Its calls take turns with the miner of the node. */
  readonly turns?: Turns
}) => {
  let uniform = uniforms(options.seed)
  const { target, always = [], turns } = options
  let rules = always
  let since = performance.now()
  let gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined
  const nothing = () => ({
    requests: 0,
    polls: 0,
    probes: 0,
    reads: 0,
    methods: new Map<string, number>(),
    faults: new Map<Fault, number>(),
    falsified: [] as Falsified[],
  })
  let counts = nothing()
  const count = <K>(map: Map<K, number>, key: K): void => void map.set(key, (map.get(key) ?? 0) + 1)

  const isDue = ({ from = 0, until = Number.POSITIVE_INFINITY }: Rule): boolean => {
    const now = performance.now() - since
    return now >= from && now < until
  }

  const strikes = (rule: Rule, methods: readonly string[]): boolean => {
    if (!isDue(rule)) return false
    if (rule.method !== undefined && !methods.includes(rule.method)) return false
    if (uniform() >= (rule.share ?? 1)) return false
    count(counts.faults, rule.fault)
    return true
  }

  const ask = (calls: readonly RpcCall[], struck: readonly Rule[]): Promise<RpcAnswer[]> => {
    for (const rule of struck) if (has(nodes, rule.fault)) return nodes[rule.fault](rule, target)(calls)
    return honest(target)(calls)
  }

  const tampered = (call: RpcCall | undefined, answer: RpcAnswer, head: number): RpcAnswer => {
    if (call === undefined || answer.error !== undefined) return answer
    for (const rule of rules) {
      const error = has(refusals, rule.fault) && isDue(rule) ? refusals[rule.fault](call, rule, head) : undefined
      if (error !== undefined) return { id: answer.id, error }
    }
    let { result } = answer
    for (const rule of rules) {
      const { fault } = rule
      if (!has(answers, fault) || !strikes(rule, [call.method])) continue
      const whole = result
      result = answers[fault](whole, uniform, call, rule)
      const blocks = fault === 'creationsOnly' ? [] : hidden(whole, result)
      if (blocks.length > 0) counts.falsified.push({ at: Date.now(), blocks })
    }
    return { ...answer, result }
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked: RpcCall | RpcCall[] = JSON.parse(await text(request))
    await gate?.opened
    const calls = Array.isArray(asked) ? asked : [asked]
    counts.requests += 1
    for (const { method, params } of calls) {
      count(counts.methods, method)
      if (params[0] === 'latest') counts.polls += 1
    }
    const methods = calls.map(({ method }) => method)
    if (methods.every((method) => method === 'eth_call')) counts.reads += 1
    if (methods.includes('eth_chainId')) counts.probes += 1
    const struck = rules
      .filter(({ fault }) => !has(answers, fault) && !has(refusals, fault))
      .filter((rule) => strikes(rule, methods))
    const kinds = struck.map(({ fault }) => fault)
    const transport = kinds.find((fault) => has(transports, fault))
    if (transport !== undefined) return void transports[transport](response, uniform)
    const forward = (): Promise<RpcAnswer[]> => ask(calls, struck)
    const isOfState = methods.some((method) => ofState.includes(method))
    const head = rules.some(({ fault }) => fault === 'pruned') ? await createRpc(target).blockNumber() : 0
    let served: object[] = (await (isOfState && turns ? turns.ask(forward) : forward())).map((it) => ({
      jsonrpc: '2.0',
      ...tampered(
        calls.find(({ id }) => id === it.id),
        it,
        head,
      ),
    }))
    for (const fault of kinds) if (has(envelopes, fault)) served = envelopes[fault](served)
    const body = JSON.stringify(Array.isArray(asked) ? served : served[0])
    response.setHeader('content-type', 'application/json')
    const delivery = kinds.find((fault) => has(deliveries, fault))
    if (delivery !== undefined) return void (await deliveries[delivery](response, body))
    response.end(body)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    /** Replaces the rules. With an empty list the node is honest. */
    set(next: readonly Rule[]): void {
      rules = [...always, ...next]
      since = performance.now()
    },
    /** Makes the random choices of this seed from now on. */
    reseed(seed: number): void {
      uniform = uniforms(seed)
    },
    /** Delays all requests until `release`, so that clients see changes of the node in between as one change. */
    hold(): void {
      let open = (): void => {}
      const opened = new Promise<void>((resolve) => {
        open = resolve
      })
      gate ??= { opened, open }
    },
    release(): void {
      gate?.open()
      gate = undefined
    },
    /**
     * The counts since the last call of this function: HTTP requests, polls of the head, requests for the chain and
     * head alone, requests that contain only calls, calls by method, faults by kind, and answers that omitted
     * creations.
     */
    counts() {
      const seen = counts
      counts = nothing()
      return seen
    },
    /** Closes every connection and refuses new ones. */
    async close(): Promise<void> {
      gate?.open()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

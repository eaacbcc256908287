import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import { unavailable } from '../lib/errors.ts'
import type { Call } from '../protocol/abi/outputs.ts'
import type { Slot } from '../protocol/abi/slots.ts'
import type { Node } from './pool/failover.ts'
import { isRevert, toServiceError } from './rpc/errors.ts'
import { type Block, type Request, storageAt, viewCall } from './rpc/requests.ts'
import type { Outcome } from './rpc/transport.ts'

type CallOutcomes<T extends readonly (Call | Slot)[]> = {
  [K in keyof T]: T[K] extends Slot<infer V> | Call<infer V> ? Outcome<V> : never
}

/** Views of the protocol at one block. */
export type Reader = {
  /**
   * Runs view calls, or reads storage slots of the proxy, at a block identified by its hash, so all outcomes are of the
   * same state. A call that reverts is an outcome and not an error. Throws `service_unavailable` when no node answers,
   * no node has the block or too many requests wait, `upstream_error` when nodes refuse or return bytes that cannot be
   * decoded.
   */
  readAt<const T extends readonly (Call | Slot)[]>(block: Pick<Block, 'hash'>, asked: T): Promise<CallOutcomes<T>>
}

const requestFor = (diamond: Address, call: Call | Slot, blockHash: Hex): Request<unknown> =>
  'data' in call ? viewCall(diamond, call, { blockHash }) : storageAt(diamond, call, { blockHash })

/** Adds the types of the calls to their outcomes, which follow them one by one. */
const typed = <T extends readonly (Call | Slot)[]>(_asked: T, outcomes: readonly Outcome<unknown>[]) =>
  outcomes as CallOutcomes<T>

/**
 * The most different requests without an answer, queued or sent: a node that hangs must not let them fill the memory.
 */
const MAX_PENDING = 20_000

/** Requests in one batch; the endpoint merges the view calls among them. */
const BATCH = 500

/**
 * While a batch of a block is under way, further requests of that block are collected for this long and sent together.
 */
const GATHER_MS = 10

/** Readers go on to the next head within seconds, and answers at one block are of no use at another. */
const KEPT_MS = 5_000

type Waiting = {
  readonly request: Request<unknown>
  readonly resolve: (outcome: Outcome<unknown>) => void
  readonly reject: (fault: unknown) => void
}

/**
 * The requests of one block that are not sent yet, the number of batches under way, and whether a flush is scheduled.
 */
type Queue = { readonly waiting: Waiting[]; sends: number; isScheduled: boolean }

/**
 * Outcomes, including reverts, are cached by block hash and call. The state at a block never changes, so nothing is
 * invalidated. Concurrent equal calls share one request, and different ones of the same block travel in one batch.
 */
export const createReader = (deps: {
  readonly node: Pick<Node, 'send'>
  readonly diamond: Address
  readonly maxEntries: number
  /** The most memory for answers and errors, as the node wrote them. */
  readonly maxBytes: number
  /** `BATCH` and `MAX_PENDING` unless given. */
  readonly batch?: number
  readonly maxPending?: number
}): Reader => {
  const { batch: batchSize = BATCH, maxPending = MAX_PENDING } = deps
  const answers = new LRUCache<string, Outcome<unknown>>({
    max: deps.maxEntries,
    maxSize: deps.maxBytes,
    ttl: KEPT_MS,
    ttlAutopurge: true,
    // The default is the clock at the start of the process, which a test cannot replace.
    perf: { now: () => performance.now() },
  })
  const asking = new Map<string, Promise<Outcome<unknown>>>()
  const queues = new Map<Hex, Queue>()

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const { outcomes } = await deps.node.send({ outcomes: batch.map(({ request }) => request) })
      for (const [at, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[at]
        if (outcome === undefined) reject(new RangeError('a batch has an outcome for each call'))
        else if (outcome.ok || isRevert(outcome.error)) resolve(outcome)
        else reject(toServiceError(outcome.error))
      }
    } catch (fault) {
      for (const { reject } of batch) reject(fault)
    }
  }

  const flush = (hash: Hex, queue: Queue): void => {
    queue.isScheduled = false
    while (queue.waiting.length > 0) {
      queue.sends += 1
      void send(queue.waiting.splice(0, batchSize)).then(() => {
        queue.sends -= 1
        if (queue.sends > 0) return
        if (queue.waiting.length > 0) flush(hash, queue)
        else if (queues.get(hash) === queue) queues.delete(hash)
      })
    }
  }

  const ask = (hash: Hex, request: Request<unknown>): Promise<Outcome<unknown>> =>
    new Promise((resolve, reject) => {
      const queue = queues.get(hash) ?? { waiting: [], sends: 0, isScheduled: false }
      queues.set(hash, queue)
      queue.waiting.push({ request, resolve, reject })
      if (queue.isScheduled) return
      queue.isScheduled = true
      if (queue.sends === 0) setImmediate(flush, hash, queue)
      else setTimeout(flush, GATHER_MS, hash, queue)
    })

  const askOnce = async (key: string, hash: Hex, request: Request<unknown>): Promise<Outcome<unknown>> => {
    let bytes = 0
    const parse = (raw: unknown): unknown => {
      bytes = typeof raw === 'string' ? raw.length : 0
      return request.parse(raw)
    }
    try {
      const outcome = await ask(hash, { ...request, parse })
      const size = outcome.ok ? bytes : outcome.error.message.length + (outcome.error.data?.length ?? 0)
      answers.set(key, outcome, { size: key.length + size })
      return outcome
    } finally {
      // A fault is not cached: the next reader sends the request again.
      asking.delete(key)
    }
  }

  const readOne = (blockHash: Hex, call: Call | Slot): Promise<Outcome<unknown>> | Outcome<unknown> => {
    // No calldata is as long as a slot's position, so the two never share a key.
    const key = `${blockHash}${'data' in call ? call.data : call.position}`
    const known = answers.get(key) ?? asking.get(key)
    if (known !== undefined) return known
    if (asking.size >= maxPending)
      return Promise.reject(unavailable(`${maxPending} views wait for a node, which is the limit: retry after 1 s`))
    const asked = askOnce(key, blockHash, requestFor(deps.diamond, call, blockHash))
    asking.set(key, asked)
    return asked
  }

  return {
    readAt: async (block, asked) => typed(asked, await Promise.all(asked.map((it) => readOne(block.hash, it)))),
  }
}

/** Reads without the cache: a node may answer the same call differently later. */
export const createUncachedReader = (deps: {
  readonly node: Pick<Node, 'send'>
  readonly diamond: Address
}): Reader => ({
  async readAt(block, asked) {
    if (asked.length === 0) return typed(asked, [])
    const { outcomes } = await deps.node.send({ outcomes: asked.map((it) => requestFor(deps.diamond, it, block.hash)) })
    for (const outcome of outcomes) if (!outcome.ok && !isRevert(outcome.error)) throw toServiceError(outcome.error)
    return typed(asked, outcomes)
  },
})

import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import { unavailable } from '../lib/errors.ts'
import type { Call } from '../protocol/outputs.ts'
import type { Slot } from '../protocol/slots.ts'
import type { Outcome } from './endpoint.ts'
import { isRevert, toServiceError } from './errors.ts'
import type { Node } from './failover.ts'
import { type Block, type Request, storageAt, viewCall } from './requests.ts'

type CallOutcomes<T extends readonly (Call | Slot)[]> = {
  [K in keyof T]: T[K] extends Slot<infer V> | Call<infer V> ? Outcome<V> : never
}

/** Views of the protocol at one block. */
export type Reader = {
  /**
   * Runs view calls, or reads slots of the proxy, at a block, by its hash, so that every answer is of the same state. A call that
   * reverts is an outcome and not an error. Throws `service_unavailable` when no node answers, none has the block or too many requests
   * wait, `upstream_error` when nodes refuse.
   */
  readAt<const T extends readonly (Call | Slot)[]>(block: Pick<Block, 'hash'>, asked: T): Promise<CallOutcomes<T>>
}

/** Different requests that may wait for their answers, those under way included: a silent node must not let them fill the memory. */
const MAX_ASKED = 20_000

/** Requests sent at once; the endpoint merges the view calls among them. */
const AT_ONCE = 500

/** While a send of a block is under way, what is asked meanwhile waits for it, but no longer than this, and goes together. */
const GATHER_MS = 10

/** Nobody reads a block for longer, and each block has answers of its own: what is older would only wait to be pushed out. */
const KEPT_MS = 60_000

type Waiting = {
  readonly request: Request<unknown>
  readonly resolve: (outcome: Outcome<unknown>) => void
  readonly reject: (fault: unknown) => void
}

/** What is asked of one block. */
type Queue = { readonly waiting: Waiting[]; sends: number; isDue: boolean }

/**
 * Answers are kept under (block hash, call), also that something does not exist: a block's state never changes, so nothing is ever
 * invalidated. Calls that overlap share one request, and different ones travel together, whoever makes them.
 */
export const createReader = (deps: {
  readonly node: Pick<Node, 'send'>
  readonly diamond: Address
  readonly maxEntries: number
  /** Of the answers as the node wrote them. */
  readonly maxBytes: number
}): Reader => {
  const answers = new LRUCache<string, Outcome<unknown>>({
    ...{ max: deps.maxEntries, maxSize: deps.maxBytes },
    ...{ ttl: KEPT_MS, ttlAutopurge: true },
  })
  const asking = new Map<string, Promise<Outcome<unknown>>>()
  const queues = new Map<Hex, Queue>()

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const outcomes = await deps.node.send(batch.map(({ request }) => request))
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
    queue.isDue = false
    while (queue.waiting.length > 0) {
      queue.sends += 1
      void send(queue.waiting.splice(0, AT_ONCE)).then(() => {
        queue.sends -= 1
        if (queue.sends > 0) return
        if (queue.waiting.length > 0) flush(hash, queue)
        else if (queues.get(hash) === queue) queues.delete(hash)
      })
    }
  }

  const ask = (hash: Hex, request: Request<unknown>): Promise<Outcome<unknown>> =>
    new Promise((resolve, reject) => {
      const queue = queues.get(hash) ?? { waiting: [], sends: 0, isDue: false }
      queues.set(hash, queue)
      queue.waiting.push({ request, resolve, reject })
      if (queue.isDue) return
      queue.isDue = true
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
      answers.set(key, outcome, { size: key.length + bytes })
      return outcome
    } finally {
      // A fault is nobody's answer: the next reader asks again.
      asking.delete(key)
    }
  }

  const readOne = (blockHash: Hex, it: Call | Slot): Promise<Outcome<unknown>> | Outcome<unknown> => {
    // A slot's position is as long as no calldata is, so the two never share a key.
    const key = `${blockHash}${'data' in it ? it.data : it.position}`
    const known = answers.get(key) ?? asking.get(key)
    if (known !== undefined) return known
    if (asking.size >= MAX_ASKED)
      return Promise.reject(unavailable(`${MAX_ASKED} views wait for a node, which is the limit: retry after 1 s`))
    const at = { blockHash }
    const request = 'data' in it ? viewCall(deps.diamond, it, at) : storageAt(deps.diamond, it, at)
    const asked = askOnce(key, blockHash, request)
    asking.set(key, asked)
    return asked
  }

  return {
    // As in `Node.send`, the outcomes follow the calls one by one.
    readAt: (block, asked) => Promise.all(asked.map((it) => readOne(block.hash, it))) as never,
  }
}

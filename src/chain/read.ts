import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
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
   * reverts is an outcome and not an error. Throws `service_unavailable` when no node answers or none has the block,
   * `upstream_error` when nodes refuse.
   */
  readAt<const T extends readonly (Call | Slot)[]>(block: Pick<Block, 'hash'>, asked: T): Promise<CallOutcomes<T>>
}

/** Nodes refuse batches past a size of their own; a hundred passes everywhere. */
const MAX_BATCH = 100

type Waiting = {
  readonly request: Request<unknown>
  readonly resolve: (outcome: Outcome<unknown>) => void
  readonly reject: (fault: unknown) => void
}

/**
 * Answers are kept under (block hash, call): a block's state never changes, so nothing is ever invalidated, and calls that overlap
 * share one request. Calls that are made in the same turn of the event loop travel as one batch, whoever makes them.
 */
export const createReader = (deps: {
  readonly node: Node
  readonly diamond: Address
  readonly maxEntries: number
}): Reader => {
  const answers = new LRUCache<string, Promise<Outcome<unknown>>>({ max: deps.maxEntries })
  const waiting = new Map<Hex, Waiting[]>()

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

  const flush = (hash: Hex): void => {
    const calls = waiting.get(hash) ?? []
    waiting.delete(hash)
    for (let from = 0; from < calls.length; from += MAX_BATCH) void send(calls.slice(from, from + MAX_BATCH))
  }

  const ask = (hash: Hex, request: Request<unknown>): Promise<Outcome<unknown>> =>
    new Promise((resolve, reject) => {
      const queue = waiting.get(hash)
      if (queue !== undefined) {
        queue.push({ request, resolve, reject })
        return
      }
      waiting.set(hash, [{ request, resolve, reject }])
      setImmediate(flush, hash)
    })

  const readOne = (blockHash: Hex, it: Call | Slot): Promise<Outcome<unknown>> => {
    // A slot's position is as long as no calldata is, so the two never share a key.
    const key = `${blockHash}${'data' in it ? it.data : it.position}`
    const known = answers.get(key)
    if (known !== undefined) return known
    const at = { blockHash }
    const asked = ask(blockHash, 'data' in it ? viewCall(deps.diamond, it, at) : storageAt(deps.diamond, it, at))
    answers.set(key, asked)
    // A fault is nobody's answer: the next reader asks again.
    asked.catch(() => answers.delete(key))
    return asked
  }

  // As in `Node.send`, the outcomes follow the calls one by one.
  return { readAt: (block, asked) => Promise.all(asked.map((it) => readOne(block.hash, it))) as never }
}

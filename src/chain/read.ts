import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import type { Call } from '../protocol/outputs.ts'
import type { Outcome } from './endpoint.ts'
import { isRevert, toServiceError } from './errors.ts'
import type { Node } from './failover.ts'
import { type Block, viewCall } from './requests.ts'

type CallOutcomes<T extends readonly Call[]> = {
  [K in keyof T]: T[K] extends Call<infer V> ? Outcome<V> : never
}

/** Views of the protocol at one block. */
export type Reader = {
  /**
   * Runs view calls at a block, by its hash, so that every answer is of the same state. A call that reverts is an outcome and not
   * an error. Throws `service_unavailable` when no node answers or none has the block, `upstream_error` when nodes refuse.
   */
  readAt<const T extends readonly Call[]>(block: Pick<Block, 'hash'>, calls: T): Promise<CallOutcomes<T>>
}

/** Nodes refuse batches past a size of their own; a hundred passes everywhere. */
const MAX_BATCH = 100

type Waiting = {
  readonly call: Call
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

  const send = async (hash: Hex, batch: readonly Waiting[]): Promise<void> => {
    try {
      const outcomes = await deps.node.send(batch.map(({ call }) => viewCall(deps.diamond, call, { blockHash: hash })))
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
    for (let from = 0; from < calls.length; from += MAX_BATCH) void send(hash, calls.slice(from, from + MAX_BATCH))
  }

  const ask = (hash: Hex, call: Call): Promise<Outcome<unknown>> =>
    new Promise((resolve, reject) => {
      const queue = waiting.get(hash)
      if (queue !== undefined) {
        queue.push({ call, resolve, reject })
        return
      }
      waiting.set(hash, [{ call, resolve, reject }])
      setImmediate(flush, hash)
    })

  const readOne = (hash: Hex, call: Call): Promise<Outcome<unknown>> => {
    const key = `${hash}${call.data}`
    const known = answers.get(key)
    if (known !== undefined) return known
    const asked = ask(hash, call)
    answers.set(key, asked)
    // A fault is nobody's answer: the next reader asks again.
    asked.catch(() => answers.delete(key))
    return asked
  }

  // As in `Node.send`, the outcomes follow the calls one by one.
  return { readAt: (block, calls) => Promise.all(calls.map((call) => readOne(block.hash, call))) as never }
}

import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import type { Call } from '../protocol/outputs.ts'
import type { Outcome } from './endpoint.ts'
import { isRevert, toServiceError } from './errors.ts'
import type { Node } from './failover.ts'
import { type Block, viewCall } from './requests.ts'

export type CallOutcomes<T extends readonly Call[]> = {
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

const key = (hash: Hex, call: Call): string => `${hash}${call.data}`

/** Nodes refuse batches past a size of their own; a hundred passes everywhere. */
const MAX_BATCH = 100

/**
 * Answers are kept under (block hash, call): a block's state never changes, so nothing is ever invalidated, and calls that overlap
 * share one request.
 */
export const createReader = (deps: {
  readonly node: Node
  readonly diamond: Address
  readonly maxEntries: number
}): Reader => {
  const answers = new LRUCache<string, Promise<Outcome<unknown>>>({ max: deps.maxEntries })

  const fetch = async (hash: Hex, calls: readonly Call[]): Promise<Outcome<unknown>[]> => {
    const outcomes: Outcome<unknown>[] = []
    for (let from = 0; from < calls.length; from += MAX_BATCH) {
      const requests = calls
        .slice(from, from + MAX_BATCH)
        .map((call) => viewCall(deps.diamond, call, { blockHash: hash }))
      outcomes.push(...(await deps.node.send(requests)))
    }
    return outcomes
  }

  /** Starts the calls that are not known yet, as one batch, and keeps their answers. */
  const start = (hash: Hex, calls: readonly Call[]): Promise<Outcome<unknown>>[] => {
    const fetched = fetch(hash, calls)
    return calls.map(async (call, at) => {
      try {
        const outcome = (await fetched)[at]
        if (outcome === undefined) throw new RangeError('a batch has an outcome for each call')
        if (!outcome.ok && !isRevert(outcome.error)) throw toServiceError(outcome.error)
        return outcome
      } catch (error) {
        // A fault is nobody's answer: the next reader asks again.
        answers.delete(key(hash, call))
        throw error
      }
    })
  }

  const readAt = (hash: Hex, calls: readonly Call[]): Promise<Outcome<unknown>[]> => {
    const known = calls.map((call) => answers.get(key(hash, call)))
    const missing = calls.filter((_, at) => known[at] === undefined)
    const started = missing.length === 0 ? [] : start(hash, missing)
    missing.forEach((call, at) => {
      answers.set(key(hash, call), started[at])
    })
    return Promise.all(known.map((answer) => answer ?? started.shift()).filter((answer) => answer !== undefined))
  }

  // As in `Node.send`, the outcomes follow the calls one by one.
  return { readAt: (block, calls) => readAt(block.hash, calls) as never }
}

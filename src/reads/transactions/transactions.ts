import type { Hex } from 'viem'
import { isUnavailable, nullIfUnavailable, ServiceError } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { untilRefreshed } from '../freshness/consistency.ts'
import type { Client, Polls, Waits } from '../freshness/waits.ts'
import { chainOf } from '../read.ts'
import { createLookup, type FoundTransaction, type TransactionSources } from './lookup.ts'

/** How often a wait looks for a replacement of its transaction, in milliseconds. */
const LOOK_AGAIN_MS = 2_000

/** How long a wait pauses when nodes disagree about a transaction, in milliseconds. */
const DISAGREE_MS = 100

/** The end of a part of a wait. */
class PartOver extends Error {
  override readonly name = 'PartOver'
}

const nullIfPartOver = (error: unknown): null => {
  if (error instanceof PartOver) return null
  throw error
}

/** Whether nothing about a transaction changes any more, so that there is nothing to wait for. */
const isFinal = (found: FoundTransaction | ServiceError): boolean =>
  !(found instanceof ServiceError) &&
  (found.data.dropped || (found.data.indexed && found.data.finality === 'finalized'))

/** Creates the reads of transactions by their hashes. */
export const createTransactions = (sources: TransactionSources, waits: Waits) => {
  const find = createLookup(sources, waits.changes)

  /** Waits until the index has the transaction, for a part of the wait. Returns whether it has. */
  const untilIndexed = async (polls: Polls, hash: Hex, deadline: number, signal: AbortSignal): Promise<boolean> => {
    const part = Math.min(deadline, performance.now() + LOOK_AGAIN_MS)
    const found = await polls.nodes
      .until({
        ...{ key: hash, deadline: part, signal },
        check: ({ transactions }) => (transactions.get(hash)?.isOnIndex === true ? true : undefined),
        late: () => new PartOver(),
      })
      .catch(nullIfPartOver)
    return found !== null
  }

  /** Waits until lists show what the indexed blocks changed. */
  const untilShown = async (polls: Polls, hash: Hex, deadline: number, signal: AbortSignal): Promise<void> => {
    await untilRefreshed(polls, `transaction ${hash}`, { deadline, signal }).catch((error: unknown) => {
      if (signal.aborted) throw error
      return nullIfUnavailable(error)
    })
  }

  return {
    /**
     * Reads a transaction, after waiting for at most `waitMs` until it is mined and lists show what it changed, or
     * until it can no longer be mined. Throws `service_unavailable` when no node answers and the index does not know
     * it, `upstream_error` when nodes refuse, and as `Waits.during` does.
     */
    async read(client: Client, chainId: ChainId, hash: Hex, waitMs: number): Promise<FoundTransaction> {
      const chain = chainOf(sources.chains, chainId)
      const deadline = performance.now() + waitMs
      /** The transaction, or why it cannot be read now. */
      const attempt = (): Promise<FoundTransaction | ServiceError> =>
        find(chain, hash).catch((error: unknown) => {
          if (isUnavailable(error)) return error
          throw error
        })
      const wait = (first: FoundTransaction | ServiceError) =>
        waits.during(chainId, client, async (polls, signal) => {
          let last = first
          for (;;) {
            if (!(last instanceof ServiceError)) {
              if (last.data.indexed) await untilShown(polls, hash, deadline, signal)
              if (last.data.indexed || last.data.dropped) return last
            }
            if (performance.now() >= deadline) return last
            const isIndexed = await untilIndexed(polls, hash, deadline, signal)
            last = await attempt()
            if (isIndexed && !(last instanceof ServiceError) && !last.data.indexed) await sleep(DISAGREE_MS, signal)
          }
        })

      const first = await attempt()
      const answer = waitMs === 0 || isFinal(first) ? first : await wait(first)
      if (answer instanceof ServiceError) throw answer
      return answer
    },
  }
}

export type Transactions = ReturnType<typeof createTransactions>

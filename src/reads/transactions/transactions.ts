import type { Hex } from 'viem'
import { isUnavailable, nullIf, nullIfUnavailable, ServiceError, unavailable } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { untilRefreshed } from '../freshness/consistency.ts'
import type { ChainSnapshot, Client, Polls, Waits } from '../freshness/waits.ts'
import { chainOf } from '../read.ts'
import type { FoundTransaction, TransactionSources } from './found.ts'
import { createLookup, TooManyLookups } from './lookup.ts'

/** How often a wait looks for a replacement of its transaction, in milliseconds. */
const LOOK_AGAIN_MS = 2_000

/** How long a wait pauses when nodes disagree about a transaction, in milliseconds. */
const DISAGREE_MS = 1_000

/** The end of a part of a wait. */
class PartOver extends Error {
  override readonly name = 'PartOver'
}

const nullIfPartOver = nullIf((error) => error instanceof PartOver)

/** Whether nothing about a transaction changes any more, so that there is nothing to wait for. */
const isFinal = (found: FoundTransaction | ServiceError): boolean =>
  !(found instanceof ServiceError) &&
  (found.data.dropped || (found.data.indexed && found.data.finality === 'finalized'))

/** Creates the reads of transactions by their hashes. */
export const createTransactions = (sources: TransactionSources, waits: Waits) => {
  const find = createLookup(sources, waits)

  /** Waits until the index has the transaction, for a part of the wait. Returns whether it has. */
  const untilIndexed = async (polls: Polls, hash: Hex, deadline: number, signal: AbortSignal): Promise<boolean> => {
    const now = performance.now()
    const part = Math.min(deadline, now + LOOK_AGAIN_MS)
    const check = ({ transactions }: ChainSnapshot) => (transactions.get(hash)?.isReached === true ? true : undefined)
    const late = () => new PartOver()
    // A poll only ends its waits after their first round, which may be late when there are many waits.
    const found = await withTimeout(
      (within) => polls.index.until({ key: hash, deadline: part, signal: within, check, late }),
      { ms: Math.max(0, part - now), late, signal },
    ).catch(nullIfPartOver)
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
     * it, the client disconnects or too many look-ups wait, `upstream_error` when nodes refuse, and as `Waits.during`
     * does. Takes at most the time-out of a node longer than the wait, and some seconds more for the reason of a revert.
     */
    async read(client: Client, chainId: ChainId, hash: Hex, waitMs: number): Promise<FoundTransaction> {
      const chain = chainOf(sources.chains, chainId)
      const deadline = performance.now() + waitMs
      /** The transaction, or why no node answers; `last` instead when too many look-ups wait. */
      const attempt = async (signal: AbortSignal, last?: FoundTransaction | ServiceError) => {
        try {
          return await find(chain, hash, signal, client.address)
        } catch (error) {
          if (signal.aborted)
            throw signal.reason instanceof ServiceError ? signal.reason : unavailable('the client disconnected')
          if (error instanceof TooManyLookups && last !== undefined) return last
          if (!isUnavailable(error) || error instanceof TooManyLookups) throw error
          return error
        }
      }
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
            last = await attempt(signal, last)
            if (isIndexed && !(last instanceof ServiceError) && !last.data.indexed) await sleep(DISAGREE_MS, signal)
          }
        })

      const first = await attempt(client.disconnected)
      const answer = waitMs === 0 || isFinal(first) ? first : await wait(first)
      if (answer instanceof ServiceError) throw answer
      return answer
    },
  }
}

export type Transactions = ReturnType<typeof createTransactions>

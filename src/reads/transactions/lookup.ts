import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { isUnavailable, ServiceError, unavailable } from '../../lib/errors.ts'
import { untilAborted, withTimeout } from '../../lib/with-timeout.ts'
import type { Waits } from '../freshness/waits.ts'
import type { FoundTransaction, TransactionSources } from './found.ts'
import { createIndexLookup } from './from-index.ts'
import { createNodeLookup, type Found } from './from-nodes.ts'
import { createRevertReasons } from './revert-reason.ts'

/** Most look-ups of a chain at once, and most that wait: together they leave most connections to other reads. */
const LIMITS = { atOnce: 8, waiting: 512 }

/** How long the worker polls fast for a transaction that is looked up and not indexed yet, in milliseconds. */
const LOOKED_UP_MS = 2_000

/** Too many look-ups run and wait. */
export class TooManyLookups extends ServiceError {
  constructor() {
    super('service_unavailable', 'too many look-ups at once: retry after 1 s', { retryAfter: 1 })
  }
}

/** Creates the look-up of transactions by their hashes. */
export const createLookup = (
  sources: TransactionSources,
  waits: Pick<Waits, 'changes' | 'longReceipts' | 'ledgerTransactions'>,
) => {
  const ofNodes = createNodeLookup(sources, waits)
  const ofIndex = createIndexLookup(sources.queries)
  const reasonOf = createRevertReasons()
  const limits = new Map(
    [...sources.chains.keys()].map((chainId) => [
      chainId,
      createConcurrencyLimit({ ...LIMITS, refuse: () => new TooManyLookups() }),
    ]),
  )

  /** Reads a transaction from the nodes within the time-out of a node, which includes the time in the queue. */
  const inTurn = (chain: Chain, hash: Hex, signal: AbortSignal, client: string): Promise<Found> => {
    const { chainId, timeoutMs: ms } = chain
    const limited = limits.get(chainId)
    if (limited === undefined) throw unavailable(`chain ${chainId} is not configured`)
    let begunAt = Number.POSITIVE_INFINITY
    const run = (within: AbortSignal) => {
      const read = () => {
        begunAt = performance.now()
        return untilAborted(ofNodes(chain, hash, within), within)
      }
      return limited(read, within, client)
    }
    const late = () =>
      performance.now() - begunAt > ms / 2
        ? unavailable(`the nodes of chain ${chainId} did not answer within ${ms} ms`)
        : new TooManyLookups()
    return withTimeout(run, { ms, late, signal })
  }

  /**
   * Reads a transaction from the nodes or, when none answers, from the index. Takes no longer than the time-out of a
   * node, but a reason that is not known yet may take longer. Throws `service_unavailable` when the index does not know
   * it either, TooManyLookups, which the client with the most look-ups gets first, `upstream_error` when nodes refuse, and the reason of `signal`.
   */
  return async (chain: Chain, hash: Hex, signal: AbortSignal, client: string): Promise<FoundTransaction> => {
    try {
      const { reverted, ...found } = await inTurn(chain, hash, signal, client)
      if (!found.data.indexed) chain.ask(null, LOOKED_UP_MS)
      if (!reverted) return found
      const reason = await reasonOf(chain, reverted, signal, client)
      const revert = typeof reason === 'string' ? null : reason.reason
      const revertStatus = typeof reason === 'string' ? reason : 'known'
      return { ...found, data: { ...found.data, revert, revertStatus } }
    } catch (fault) {
      if (!isUnavailable(fault) || fault instanceof TooManyLookups || signal.aborted) throw fault
      const stored = await ofIndex(chain.chainId, hash, signal)
      if (stored === null) throw fault
      return stored
    }
  }
}

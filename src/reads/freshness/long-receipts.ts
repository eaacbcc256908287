import { LRUCache } from 'lru-cache'
import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isTooLong, toServiceError } from '../../chain/rpc/errors.ts'
import { getLogs } from '../../chain/rpc/requests.ts'
import { getReceiptWithoutLogs, MAX_LONG_RECEIPT_BYTES, type Receipt } from '../../chain/rpc/transactions.ts'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { ServiceError, unavailable, upstream } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import { withTimeout } from '../../lib/with-timeout.ts'

/** Receipts that are kept, and for how long, in milliseconds: a reorg may change them. */
const KEPT = { max: 100, ttl: 10_000 }

/** Most receipts that are read at the same time, and most that wait. */
const LIMITS = { atOnce: 1, waiting: 16 }

const TIMEOUT_MS = 10_000

const late = () => unavailable(`a long receipt was not read within ${TIMEOUT_MS / 1_000} s: try again`)

/** The receipt with the logs of the protocol only, which have a request of their own. */
const fetchReceipt = async (chain: Chain, hash: Hex, signal: AbortSignal): Promise<Receipt | null> => {
  const { receipt } = await chain.send({ receipt: getReceiptWithoutLogs(hash) }, { signal })
  if (!receipt.ok) throw toServiceError(receipt.error)
  if (receipt.value === null) return null
  const { blockNumber, blockHash } = receipt.value
  const { diamond: address } = chain.deployment
  const block = { fromBlock: blockNumber, toBlock: blockNumber }
  const { logs } = await chain.send({ logs: getLogs({ address, ...block }) }, { signal })
  if (!logs.ok) throw toServiceError(logs.error)
  const isOwn = (log: Receipt['logs'][number]) => log.transactionHash === hash && log.blockHash === blockHash
  return { ...receipt.value, logs: logs.value.filter(isOwn) }
}

/** Creates the reader of receipts that are too long to be read whole. `now` is a monotonic clock in milliseconds. */
export const createLongReceipts = (now = () => performance.now()) => {
  const kept = new LRUCache<string, Receipt | ServiceError>({ ...KEPT, ttlResolution: 0, perf: { now } })
  const once = createSingleFlight<Receipt | null>()
  const limited = createConcurrencyLimit({
    ...LIMITS,
    refuse: () => unavailable('too many long receipts are read at once: retry after 1 s'),
  })
  const keyOf = (chain: Chain, hash: Hex): string => `${chain.chainId} ${hash}`

  const fetchAndKeep = async (chain: Chain, hash: Hex): Promise<Receipt | null> => {
    try {
      const receipt = await limited(() =>
        withTimeout((signal) => fetchReceipt(chain, hash, signal), { ms: TIMEOUT_MS, late }),
      )
      if (receipt !== null) kept.set(keyOf(chain, hash), receipt)
      return receipt
    } catch (fault) {
      if (!isTooLong(fault)) throw fault
      const message = `the transaction has too many logs: its receipt is longer than ${MAX_LONG_RECEIPT_BYTES} bytes`
      const error = upstream(message, fault)
      kept.set(keyOf(chain, hash), error)
      throw error
    }
  }

  return {
    /** The receipt, if it was read in the last seconds. */
    known(chain: Chain, hash: Hex): Receipt | undefined {
      const found = kept.get(keyOf(chain, hash))
      return found instanceof ServiceError ? undefined : found
    },
    /** Throws `upstream_error` for a receipt that is longer than `MAX_LONG_RECEIPT_BYTES`. */
    async read(chain: Chain, hash: Hex): Promise<Receipt | null> {
      const key = keyOf(chain, hash)
      const found = kept.get(key)
      if (found instanceof ServiceError) throw found
      return found ?? once(key, () => fetchAndKeep(chain, hash))
    },
  }
}

export type LongReceipts = ReturnType<typeof createLongReceipts>

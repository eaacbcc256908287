import { type Hex, type PublicClient, type TransactionReceipt, TransactionReceiptNotFoundError, withRetry } from 'viem'

const POLL_MS = 5

/** About a minute. A node that mines immediately needs milliseconds. */
const MAX_POLLS = 12_000

/**
 * The receipt of a transaction that was sent to a sandbox node, even if it reverted. viem's own wait requests a receipt
 * only when it sees a new block, and ignores a block that arrives during a request for an earlier one. On a node that
 * mines only for transactions no later block arrives, so viem would wait forever. Throws
 * TransactionReceiptNotFoundError when there is no receipt after about a minute.
 */
export const receiptOf = (node: Pick<PublicClient, 'getTransactionReceipt'>, hash: Hex): Promise<TransactionReceipt> =>
  withRetry(() => node.getTransactionReceipt({ hash }), {
    delay: POLL_MS,
    retryCount: MAX_POLLS,
    shouldRetry: ({ error }) => error instanceof TransactionReceiptNotFoundError,
  })

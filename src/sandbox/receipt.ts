import { type Hex, type PublicClient, type TransactionReceipt, TransactionReceiptNotFoundError, withRetry } from 'viem'

const POLL_MS = 50

/** About a minute; a node that mines at once needs milliseconds. */
const MAX_POLLS = 1_200

/**
 * The receipt of a transaction that was sent to a node of the sandbox, also of one that reverted. viem's own wait asks for a receipt only when
 * it sees a new block, and ignores a block that comes while it asks about an earlier one: on a node that mines for transactions only, no
 * later block comes, so it never asks again. Throws TransactionReceiptNotFoundError when there is no receipt after about a minute.
 */
export const receiptOf = (node: Pick<PublicClient, 'getTransactionReceipt'>, hash: Hex): Promise<TransactionReceipt> =>
  withRetry(() => node.getTransactionReceipt({ hash }), {
    delay: POLL_MS,
    retryCount: MAX_POLLS,
    shouldRetry: ({ error }) => error instanceof TransactionReceiptNotFoundError,
  })

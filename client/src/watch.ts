import { isPassing } from './errors.ts'
import type { Requests } from './requests.ts'
import type { Schemas } from './types.ts'
import { ExecutionError } from './wallet.ts'

type Transaction = Schemas['Transaction']

/** What is known of a hash. */
export type Seen = {
  readonly hash: string
  /** The transaction, as the API last reported it. */
  readonly transaction?: Transaction
  /** Whether it is mined and indexed, and did not fail. */
  readonly isDone: boolean
  /** Why it failed, or cannot be mined. */
  readonly failure?: ExecutionError | undefined
  /** Why the API could not be read the last time. */
  readonly problem?: unknown
}

export const isHash = (text: unknown): text is string => typeof text === 'string' && /^0x[0-9a-f]{64}$/i.test(text)

/**
 * How long a transaction has to be reported as dropped by an unknown one, in milliseconds. Nodes can know the new nonce
 * of the sender before they know the block of the transaction, or of the one that replaced it.
 */
const DROPPED_MS = 15_000

/** The most that one request waits for a transaction that a node has, and for another one. */
const WAIT_MS = 30_000
const UNKNOWN_WAIT_MS = 5_000

/** The failure of a transaction that is mined or cannot be. Of a bundle, only the operations of `from` count. */
const failureOf = (transaction: Transaction, isDropped: boolean, from: string | undefined) => {
  const { status, replacedBy, revert, userOperations, hash } = transaction
  const failed = userOperations.find(
    ({ success, sender }) => !success && (from === undefined || sender.toLowerCase() === from),
  )
  if (status === 'reverted' || failed !== undefined) {
    const reason = revert ?? failed?.revert
    const text = `transaction ${hash} reverted: ${reason?.reason ?? 'the node does not report why'}`
    const hint = reason?.hint ?? 'Request a new plan: it reports whether the action can succeed.'
    return new ExecutionError(reason?.code ?? 'reverted_without_reason', text, hint, { hash })
  }
  if (!isDropped) return undefined
  const text = `transaction ${hash} was replaced${replacedBy === null ? '' : ` by ${replacedBy}`}`
  return new ExecutionError('transaction_dropped', text, 'Check what the other transaction did.', { hash })
}

/** Returns the function that looks up a transaction, and waits for it until a time or a little less. */
export const createWatch = (api: Requests, chainId: number, hash: string, from?: string) => {
  let seen: Seen = { hash, isDone: false }
  let droppedSince: number | null = null

  return async (until: number, signal: AbortSignal | undefined): Promise<Seen> => {
    if (seen.isDone || !isHash(hash)) return seen
    const most = seen.transaction?.status === 'pending' ? WAIT_MS : UNKNOWN_WAIT_MS
    const waitMs = Math.max(0, Math.min(most, until - Date.now()))
    const call = { attempts: 1, ...(signal !== undefined && { signal }) }
    try {
      const { data } = await api.get('/v1/transactions/{chainId}/{hash}', { chainId, hash, waitMs }, call)
      droppedSince = data.dropped ? (droppedSince ?? Date.now()) : null
      const isLong = droppedSince !== null && Date.now() - droppedSince >= DROPPED_MS
      const isDropped = data.dropped && (data.replacedBy !== null || isLong)
      const failure = failureOf(data, isDropped, from?.toLowerCase())
      const isDone = failure === undefined && data.status === 'succeeded' && data.indexed
      seen = { hash, transaction: data, isDone, failure }
    } catch (problem) {
      if (signal?.aborted || !isPassing(problem)) throw problem
      seen = { ...seen, problem }
    }
    return seen
  }
}

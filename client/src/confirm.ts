import type { Requests } from './requests.ts'
import { sleep } from './retry.ts'
import type { Schemas } from './types.ts'
import { ExecutionError } from './wallet.ts'

type Transaction = Schemas['Transaction']

/** The most that one request waits, and the pause after a response that did not wait. */
const WAIT_MS = 30_000
const PAUSE_MS = 1_000

export type Waiting = {
  /** The most that a transaction may take until it is mined and indexed, in milliseconds; 180,000 by default. */
  readonly confirmationMs?: number | undefined
  /** Ends the wait; a transaction that was sent stays sent. */
  readonly signal?: AbortSignal | undefined
}

export const CONFIRMATION_MS = 180_000

/**
 * How often a transaction has to be reported as dropped by an unknown one. Nodes can know the new nonce of the sender
 * before they know the block of the transaction.
 */
const DROPPED_REPORTS = 3

/** The failure of a transaction that is mined or cannot be. */
const failureOf = ({ status, replacedBy, revert, userOperations, hash }: Transaction, isDropped: boolean) => {
  const failed = userOperations.find(({ success }) => !success)
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

/** Waits until a transaction is mined and indexed. Throws ExecutionError when it reverts or is dropped, or in the end. */
export const waitForTransaction = async (
  api: Requests,
  chainId: number,
  hash: string,
  { confirmationMs = CONFIRMATION_MS, signal }: Waiting = {},
): Promise<Transaction> => {
  const until = Date.now() + confirmationMs
  const call = signal === undefined ? {} : { signal }
  for (let droppedReports = 0; ; ) {
    const waitMs = Math.max(0, Math.min(WAIT_MS, until - Date.now()))
    const { data } = await api.get('/v1/transactions/{chainId}/{hash}', { chainId, hash, waitMs }, call)
    droppedReports = data.dropped ? droppedReports + 1 : 0
    const isDropped = data.dropped && (data.replacedBy !== null || droppedReports >= DROPPED_REPORTS)
    const failure = failureOf(data, isDropped)
    if (failure !== undefined) throw failure
    if (data.status === 'succeeded' && data.indexed) return data
    if (Date.now() >= until) {
      const text = `transaction ${hash} is ${data.status} after ${confirmationMs} ms`
      throw new ExecutionError('not_confirmed', text, 'It may still be mined: read it before you send another one.', {
        hash,
      })
    }
    await sleep(PAUSE_MS, signal)
  }
}

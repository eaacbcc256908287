import { FxProtectionError } from './errors.ts'
import { type Refusal, refusalOf } from './refusals.ts'
import { sleep } from './retry.ts'

type Hex = `0x${string}`

/** The part of a viem wallet client that executes plans. */
export type Wallet = {
  readonly account?: { readonly address: Hex; readonly type: string } | undefined
  request(call: never, options?: never): Promise<unknown>
  sendTransaction(transaction: never): Promise<Hex>
}

/** A plan that was not executed, or not completely. `code` is one of `GET /v1/reverts`, of the plan's issues, or below. */
export class ExecutionError extends FxProtectionError {
  declare readonly hint: string
  /** The transaction that failed or is not confirmed; undefined when none is known. */
  readonly hash: string | undefined
  /** The batch (EIP-5792) that failed or is not confirmed; undefined when none was handed to the wallet. */
  readonly batchId: string | undefined

  constructor(code: ExecutionCode | (string & {}), message: string, hint: string, given: ErrorContext = {}) {
    const { hash, batchId, ...rest } = given
    super(message, { code, hint, ...rest })
    this.hash = hash
    this.batchId = batchId
  }
}

export type ErrorContext = {
  readonly hash?: string | undefined
  readonly batchId?: string | undefined
  readonly cause?: unknown
}

/** The codes of an execution that neither the API nor a contract reports. */
export type ExecutionCode =
  | 'wrong_account'
  | 'wrong_chain'
  | 'user_rejected'
  | 'nonce_used'
  | 'wallet_failed'
  | 'transaction_dropped'
  | 'not_confirmed'
  | 'aborted'

/** The failure of a wallet as an error with a code. */
export const walletError = (cause: unknown, refusal: Refusal = refusalOf(cause)): ExecutionError => {
  const message = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause)
  if (refusal === 'rejected') {
    return new ExecutionError('user_rejected', 'the user rejected the request', 'Ask again when the user agrees.', {
      cause,
    })
  }
  if (refusal === 'nonce') {
    const hint =
      'The wallet has another transaction with this nonce. Check what that one does before you request a new plan.'
    return new ExecutionError('nonce_used', message, hint, { cause })
  }
  const hint = 'Read the cause, and check the activity of the wallet before you execute a plan again.'
  return new ExecutionError('wallet_failed', message, hint, { cause })
}

/** A JSON-RPC request to a wallet. viem would repeat a failed one, and with it what the wallet has already sent. */
export const askWallet = (wallet: Wallet, method: string, params: readonly unknown[]): Promise<unknown> =>
  wallet.request({ method, params } as never, { retryCount: 0 } as never)

/** The most that a user may take to decide, in milliseconds. */
const DECISION_MS = 900_000

/**
 * Waits until the user has decided on `what`. Rejects as the wallet does, and when it does not answer in time. Throws
 * ExecutionError when the signal is aborted: the user may still agree.
 */
export const askUser = async <T>(
  asked: Promise<T>,
  what: string,
  signal: AbortSignal | undefined,
  batchId?: string,
): Promise<T> => {
  try {
    return await within(asked, DECISION_MS, 'the request', signal)
  } catch (cause) {
    if (signal?.aborted !== true) throw cause
    const hint = 'The wallet may still show the request, and send it when the user agrees: look it up there.'
    throw new ExecutionError('aborted', `the wait for the wallet to send ${what} was aborted`, hint, { batchId, cause })
  }
}

/** The same within a time: not every wallet answers. Rejects with the reason of the signal when it is aborted. */
export const askWithin = async (
  wallet: Wallet,
  [method, params]: readonly [string, readonly unknown[]],
  ms: number,
  signal: AbortSignal | undefined,
): Promise<unknown> => {
  signal?.throwIfAborted()
  return within(askWallet(wallet, method, params), ms, method, signal)
}

/** The result of a request within a time. Rejects with the reason of the signal when it is aborted. */
const within = async <T>(
  asked: Promise<T>,
  ms: number,
  method: string,
  signal: AbortSignal | undefined,
): Promise<T> => {
  const end = new AbortController()
  const stop = (): void => end.abort(signal?.reason)
  signal?.addEventListener('abort', stop)
  // The request itself may have aborted it.
  if (signal?.aborted) stop()
  const late = async (): Promise<never> => {
    await sleep(ms, end.signal)
    throw new Error(`${method}: no answer within ${ms} ms`)
  }
  try {
    return await Promise.race([asked, late()])
  } finally {
    signal?.removeEventListener('abort', stop)
    end.abort()
  }
}

import { FxProtectionError } from './errors.ts'

type Hex = `0x${string}`

/** The part of a viem wallet client that executes plans. */
export type Wallet = {
  readonly account?: { readonly address: Hex; readonly type: string } | undefined
  request(call: never): Promise<unknown>
  sendTransaction(transaction: never): Promise<Hex>
}

/** A plan that was not executed, or not completely. `code` is one of `GET /v1/reverts`, of the plan's issues, or below. */
export class ExecutionError extends FxProtectionError {
  declare readonly hint: string
  /** The transaction that failed; undefined when none was sent. */
  readonly hash: string | undefined

  constructor(code: ExecutionCode | (string & {}), message: string, hint: string, given: ErrorContext = {}) {
    const { hash, ...rest } = given
    super(message, { code, hint, ...rest })
    this.hash = hash
  }
}

type ErrorContext = { readonly hash?: string; readonly cause?: unknown }

/** The codes of an execution that neither the API nor a contract reports. */
export type ExecutionCode =
  | 'wrong_account'
  | 'wrong_chain'
  | 'user_rejected'
  | 'nonce_used'
  | 'wallet_failed'
  | 'transaction_dropped'
  | 'not_confirmed'

/** The code of an error of EIP-1193, wherever a library has wrapped it. */
const codeOf = (error: unknown): unknown => {
  for (let at = error; at instanceof Object; at = Object(at).cause) {
    const { code } = Object(at)
    if (typeof code === 'number') return code
  }
  return undefined
}

const USER_REJECTED = 4001
const UNSUPPORTED: readonly unknown[] = [4200, -32601, -32004]

/** Whether a wallet lacks a method. */
export const isUnsupported = (error: unknown): boolean => UNSUPPORTED.includes(codeOf(error))

/** The failure of a wallet as an error with a code. */
export const walletError = (cause: unknown): ExecutionError => {
  const message = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause)
  if (codeOf(cause) === USER_REJECTED) {
    return new ExecutionError('user_rejected', 'the user rejected the request', 'Ask again when the user agrees.', {
      cause,
    })
  }
  if (/nonce|replacement transaction|already known/i.test(String(cause))) {
    const hint = 'Another transaction of the wallet was sent meanwhile: request a new plan.'
    return new ExecutionError('nonce_used', message, hint, { cause })
  }
  return new ExecutionError('wallet_failed', message, 'Read the cause: the wallet did not send it.', { cause })
}

/** A JSON-RPC request to a wallet. */
export const askWallet = (wallet: Wallet, method: string, params: readonly unknown[]): Promise<unknown> =>
  wallet.request({ method, params } as never)

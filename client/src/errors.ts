import type { components } from './api.generated.ts'

type Details = components['schemas']['Error']['error']

/** Codes of errors that this package adds to those of the API. */
export type ConnectionCode = 'network_error' | 'timeout' | 'invalid_response'

type Context = {
  readonly code: string
  readonly hint?: string
  readonly requestId?: string | undefined
  readonly cause?: unknown
}

/** The base of every error of this package. Switch on `code`: messages and hints may be reworded. */
export class FxProtectionError extends Error {
  /** Stable. A code of the API, of `GET /v1/reverts`, or of this package. */
  readonly code: string
  /** What to do about it. */
  readonly hint: string | undefined
  /** The `X-Request-Id` of the request, for the operator of the service; undefined when no request failed, or in a browser without a response. */
  readonly requestId: string | undefined

  constructor(message: string, given: Context) {
    super(message, given.cause === undefined ? undefined : { cause: given.cause })
    this.name = new.target.name
    this.code = given.code
    this.hint = given.hint
    this.requestId = given.requestId
  }
}

/** An error in the options of a function of this package. */
export const optionError = (message: string): FxProtectionError =>
  new FxProtectionError(message, { code: 'invalid_options', hint: 'Change the options that the message names.' })

type Response = {
  readonly status: number
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
}

/** What to do about an error response. */
const hints: Readonly<Record<Details['code'], string>> = {
  validation_error: 'Change the fields that `details` names.',
  unauthorized: 'Send another token.',
  forbidden: 'Use credentials that may do this.',
  not_found: 'Check ids, `chainId` and the path. Right after your own transaction, pass its hash as `afterTx`.',
  conflict: 'Request a new plan: the transaction would revert.',
  rate_limited: 'Send fewer requests, and repeat this one after `retryAfterMs`.',
  internal_error: 'Report `requestId` to the operator of the service.',
  upstream_error: 'Read `message` for the reason. The same request will fail again.',
  service_unavailable: 'Repeat the request after `retryAfterMs`.',
}

/** An error response of the API. */
export class ApiError extends FxProtectionError {
  declare readonly code: Details['code']
  readonly status: number
  /** The fields at fault. */
  readonly details: readonly { readonly path: string; readonly message: string }[]
  /** When the service accepts the request again, in milliseconds; undefined when it does not report that. */
  readonly retryAfterMs: number | undefined

  constructor(error: Details, given: Response) {
    super(`${given.status} ${error.code}: ${error.message}`, {
      ...{ code: error.code, hint: hints[error.code], requestId: given.requestId },
    })
    this.status = given.status
    this.details = error.details ?? []
    this.retryAfterMs = given.retryAfterMs
  }
}

/** No response, no response in time, or a response that does not come from the API. */
export class ConnectionError extends FxProtectionError {
  declare readonly code: ConnectionCode
}

/** Whether a failure may be over soon. Every other one, such as an invalid parameter, stays. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status >= 500 || error.status === 429))

/** Whether a body is an error of the API. */
export const isErrorBody = (body: unknown): body is { readonly error: Details } =>
  typeof Object(Object(body).error).code === 'string'

/** A reorg removed blocks that a paginated list is as of. */
export type Reorg = {
  readonly type: 'reorg'
  readonly chainId: number
  /** The block that the list is as of on this chain. */
  readonly blockNumber: number
  readonly blockHash: string
  /** How many rows were returned before. Some of them may not exist any more. */
  readonly rowsBefore: number
}

/** Ends a paginated list without `onReorg` when a reorg removed blocks that the list is as of. */
export class ReorgError extends FxProtectionError {
  readonly reorg: Reorg

  constructor(reorg: Reorg) {
    const { blockNumber, chainId } = reorg
    super(`a reorg of chain ${chainId} removed blocks up to block ${blockNumber}, which the list is as of`, {
      code: 'reorg',
      hint: 'Read the list again from its first page, or pass `onReorg` to continue.',
    })
    this.reorg = reorg
  }
}

/** The nine codes of the specification. Clients switch on them, so a code never changes its meaning. */
export const errorCodes = [
  'unauthorized',
  'forbidden',
  'not_found',
  'validation_error',
  'conflict',
  'rate_limited',
  'internal_error',
  'upstream_error',
  'service_unavailable',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/** One invalid field: `path` names it (`args.0.amount`), `message` says what was expected. */
export type ErrorDetail = { readonly path: string; readonly message: string }

export type ServiceErrorOptions = {
  readonly details?: readonly ErrorDetail[]
  /** Seconds a client should wait before it tries again. */
  readonly retryAfter?: number
  readonly cause?: unknown
}

/**
 * The one error that may reach a client. Its message is written for the client: it never carries a node address, a token or a
 * stack. The HTTP status is not known here; the API maps `code` to it.
 *
 * @example throw notFound('event 7 does not exist on chain 8453')
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details
    this.retryAfter = options.retryAfter
  }
}

/** A field of the request is not acceptable; each detail names one. */
export const invalid = (message: string, details: readonly ErrorDetail[]): ServiceError =>
  new ServiceError('validation_error', message, { details })

/** Who asks has not said who they are, or not in a way that holds. */
export const unauthorized = (message: string): ServiceError => new ServiceError('unauthorized', message)

/** The named thing does not exist. */
export const notFound = (message: string): ServiceError => new ServiceError('not_found', message)

/** A node, the engine or the identity provider answered with an error; the message carries its reason. */
export const upstream = (message: string, cause?: unknown): ServiceError =>
  new ServiceError('upstream_error', message, { cause })

/** A node, the engine, the identity provider or the database cannot be reached. */
export const unavailable = (message: string, cause?: unknown, retryAfter = 1): ServiceError =>
  new ServiceError('service_unavailable', message, { cause, retryAfter })

/** True when the failure means "nobody answered", so another source may be asked instead. */
export const isUnavailable = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'service_unavailable'

/** Something whoever runs the service can mend; the message says how, and is all they are shown. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/** The text of anything thrown, for logs. Of several that have none together, as of addresses that all refuse, that of each. */
export const errorText = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorText).join(', ')
  return error instanceof Error ? error.message : String(error)
}

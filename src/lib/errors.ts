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

/** Most fields that one error names. */
export const MAX_DETAILS = 20

/*
 * Bounds of an error's texts, in UTF-16 units, since clients, nodes and the pricing engine can put words of their own into them. Together
 * they keep every error body below 16 KB: at most three bytes a unit.
 */
const MAX_MESSAGE = 1_000
const MAX_PATH = 60
const MAX_DETAIL = 150

/** Text of at most `max` units, an ellipsis at the end of one that was longer. What is no character or takes many bytes in JSON is a blank. */
export const clip = (text: string, max: number): string => {
  const short = text.length <= max ? text : `${text.slice(0, max - 1)}…`
  return short.replace(/[\p{Cc}\p{Cs}]/gu, ' ')
}

/** A detail with both texts within their bounds. */
export const detail = ({ path, message }: ErrorDetail): ErrorDetail => ({
  path: clip(path, MAX_PATH),
  message: clip(message, MAX_DETAIL),
})

export type ServiceErrorOptions = {
  readonly details?: readonly ErrorDetail[]
  /** Seconds a client should wait before it tries again. */
  readonly retryAfter?: number
  readonly cause?: unknown
}

/**
 * The one error that may reach a client. Its message is written for the client: it never carries a node address, a token or a
 * stack. Message and details are cut to their bounds. The HTTP status is not known here; the API maps `code` to it.
 *
 * @example throw notFound('event 7 does not exist on chain 8453')
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(clip(message, MAX_MESSAGE), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details?.slice(0, MAX_DETAILS).map(detail)
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

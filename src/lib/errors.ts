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

/** One invalid field: `path` names it (`args.0.amount`), `message` describes the expected value. */
export type ErrorDetail = { readonly path: string; readonly message: string }

/** Most fields that one error names. */
export const MAX_DETAILS = 20

/*
 * Bounds of an error's texts, in UTF-16 units, because they may contain text from clients, nodes and the pricing
 * engine. Together they keep every error body below 16 KB: a unit takes at most three bytes.
 */
const MAX_MESSAGE = 1_000
const MAX_PATH = 60
const MAX_DETAIL = 150

/** Cuts a text of more than `max` units and adds an ellipsis. Control characters and lone surrogates become spaces. */
export const clip = (text: string, max: number): string => {
  const short = text.length <= max ? text : `${text.slice(0, max - 1)}…`
  return short.replace(/[\p{Cc}\p{Cs}]/gu, ' ')
}

/** A detail with both texts cut to their bounds. */
export const detail = ({ path, message }: ErrorDetail): ErrorDetail => ({
  path: clip(path, MAX_PATH),
  message: clip(message, MAX_DETAIL),
})

export type ServiceErrorOptions = {
  readonly details?: readonly ErrorDetail[]
  /** Seconds a client should wait before it tries again. */
  readonly retryAfter?: number
  /** The HTTP status, where HTTP has a more exact one than that of the code. */
  readonly status?: number
  readonly cause?: unknown
}

/**
 * The one error that may reach a client. Its message is written for the client: it never contains a node address, a
 * token or a stack. Message and details are cut to their bounds. The API maps `code` to an HTTP status.
 *
 * @example throw notFound('event 7 does not exist on chain 8453')
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfter: number | undefined
  readonly status: number | undefined

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(clip(message, MAX_MESSAGE), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details?.slice(0, MAX_DETAILS).map(detail)
    this.retryAfter = options.retryAfter
    this.status = options.status
  }
}

/** At least one field of the request is invalid; each detail names one. */
export const invalid = (message: string, details: readonly ErrorDetail[]): ServiceError =>
  new ServiceError('validation_error', message, { details })

/** The error for one invalid field, which the message names too. */
export const invalidField = (path: string, message: string): ServiceError =>
  invalid(`${path}: ${message}`, [{ path, message }])

/** The request has no credentials, or invalid ones. */
export const unauthorized = (message: string): ServiceError => new ServiceError('unauthorized', message)

/** The named thing does not exist. */
export const notFound = (message: string): ServiceError => new ServiceError('not_found', message)

/** The request asked not to do something in the present state. */
export const conflict = (message: string, details: readonly ErrorDetail[]): ServiceError =>
  new ServiceError('conflict', message, { details })

/** A node, the engine or the identity provider answered with an error; the message carries its reason. */
export const upstream = (message: string, cause?: unknown): ServiceError =>
  new ServiceError('upstream_error', message, { cause })

/** A node, the engine, the identity provider or the database cannot be reached. */
export const unavailable = (message: string, cause?: unknown, retryAfter = 1): ServiceError =>
  new ServiceError('service_unavailable', message, { cause, retryAfter })

/** True when a source did not answer, so another source may be used instead. */
export const isUnavailable = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'service_unavailable'

/** For `catch`: null in place of the errors of a kind. Throws everything else. */
export const nullIf =
  (isOfKind: (error: unknown) => boolean) =>
  (error: unknown): null => {
    if (!isOfKind(error)) throw error
    return null
  }

export const nullIfUnavailable = nullIf(isUnavailable)

/** A problem that the operator can solve. Only the message is shown, so it contains the solution. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/**
 * The text of a thrown value, for logs. An AggregateError without a message (all addresses of a host refused) yields
 * the texts of its errors.
 */
export const errorText = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorText).join(', ')
  return error instanceof Error ? error.message : String(error)
}

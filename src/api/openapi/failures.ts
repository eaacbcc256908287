import type { ErrorCode } from '../../lib/errors.ts'
import { type ErrorBody, statuses } from '../../lib/problem.ts'
import { BODY_LIMIT } from '../limits.ts'

/** An error response as it is documented. */
export type Failure = { readonly status: number; readonly description: string; readonly example: ErrorBody }

const failure = (code: ErrorCode, description: string, message: string): Failure => ({
  status: statuses[code],
  description,
  example: { error: { code, message } },
})

const refusal = (description: string, path: string, message: string, whole = message): Failure => ({
  status: statuses.validation_error,
  description,
  example: { error: { code: 'validation_error', message: whole, details: [{ path, message }] } },
})

/** A 404 with the route's own message. */
export const missing = (message: string): Failure => failure('not_found', 'It does not exist on the chain', message)

/** A 413 of a route that takes so many bytes. */
export const bodyTooLarge = (limit: number): Failure => ({
  ...refusal(`The body is larger than ${limit} bytes`, 'body', `the body is larger than ${limit} bytes`),
  status: 413,
})

const UNSUPPORTED = 'unsupported chainId: expected one of 8453, 56'

/** Every other error response, by the name of its component: a code, or what the framework refuses under that code. */
export const failures = {
  validation_error: refusal(
    'A part of the request is not acceptable, such as an unknown or repeated query parameter; `details` names up to 20 faults',
    'chainId',
    UNSUPPORTED,
    `chainId: ${UNSUPPORTED}`,
  ),
  body_too_large: bodyTooLarge(BODY_LIMIT),
  unknown_parameter: refusal(
    'A query parameter is there, and the route takes none',
    'chainId',
    "unknown parameter 'chainId'",
    "chainId: unknown parameter 'chainId'",
  ),
  body_not_json: { ...refusal('The body is not `application/json`', 'body', 'Unsupported Media Type'), status: 415 },
  unauthorized: failure(
    'unauthorized',
    'The bearer token is missing, malformed or rejected',
    'a bearer token is required',
  ),
  rate_limited: failure(
    'rate_limited',
    'Too many requests of one address, where the operator has set a limit (none by default), or too many streams or waits of it at once; `Retry-After` says when to come back',
    'more than 600 requests a minute',
  ),
  internal_error: failure(
    'internal_error',
    'A fault of the service; its log knows more under the request id',
    'internal error, request 3f0c8a1e-5d0e-4b57-9a5e-0f3c1d2b4a69',
  ),
  upstream_error: failure(
    'upstream_error',
    'A node, the pricing engine or the identity provider answered with an error, whose reason the message carries',
    'nonce too low',
  ),
  service_unavailable: failure(
    'service_unavailable',
    'Whoever would have to answer is out of reach; `Retry-After` says when to come back',
    'no node of chain 8453 answers',
  ),
} as const satisfies Record<string, Failure>

export type FailureName = keyof typeof failures

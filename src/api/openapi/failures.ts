import type { ErrorCode } from '../../lib/errors.ts'
import { type ErrorBody, statuses } from '../../lib/http/problem.ts'
import { BODY_LIMIT } from '../limits/limits.ts'

/** An error response in the description. */
export type Failure = { readonly status: number; readonly description: string; readonly example: ErrorBody }

const failure = (code: ErrorCode, description: string, message: string): Failure => ({
  status: statuses[code],
  description,
  example: { error: { code, message } },
})

const refusal = (description: string, path: string, message: string): Failure => {
  const whole = path === 'body' ? message : `${path}: ${message}`
  return {
    status: statuses.validation_error,
    description,
    example: { error: { code: 'validation_error', message: whole, details: [{ path, message }] } },
  }
}

/** A 404 with the route's own message. */
export const missing = (message: string): Failure =>
  failure('not_found', 'The resource does not exist on the chain', message)

/** A 413 of a route with this body limit, in bytes. */
export const bodyTooLarge = (limit: number): Failure => ({
  ...refusal(`The body is larger than ${limit} bytes`, 'body', `the body is larger than ${limit} bytes`),
  status: 413,
})

/** All other error responses by the name of their component: an error code, or a special case of one. */
export const failures = {
  validation_error: refusal(
    'The request is invalid. `details` names up to 20 faults, such as an unknown or repeated query parameter',
    'chainId',
    'unsupported chainId: expected one of 8453, 56',
  ),
  body_too_large: bodyTooLarge(BODY_LIMIT),
  unknown_parameter: refusal(
    'A query parameter is invalid, or the route does not take it',
    'chainId',
    "unknown parameter 'chainId'",
  ),
  body_not_json: {
    ...refusal(
      'The body is not `application/json`, or it is compressed',
      'body',
      'expected JSON with the header content-type: application/json, got text/plain',
    ),
    status: 415,
  },
  unauthorized: failure(
    'unauthorized',
    'The bearer token is missing, malformed or rejected',
    'a bearer token is required',
  ),
  key_required: failure(
    'unauthorized',
    'The header `x-api-key` is missing, or is no key of this service',
    'a key in the header x-api-key is required: ask the operator of this service for one',
  ),
  self_service_off: failure(
    'forbidden',
    'Integrators cannot register webhooks by themselves, because the operator has not turned it on',
    'self-service for webhooks is off: ask the operator of this service to register your endpoint',
  ),
  too_many_webhooks: failure(
    'conflict',
    'The key has as many endpoints as it may have',
    'the key has 10 endpoints, the most that it may have: remove one first',
  ),
  two_secrets: failure(
    'conflict',
    'Two secrets are in use already',
    'two secrets sign until 2026-11-25T10:00:00.000Z, and the older one would end: rotate after that, or at once with endPrevious=true',
  ),
  reorged: failure(
    'conflict',
    'CSV only: a reorg removed blocks since the cursor was made',
    'a reorg removed blocks that the rows before are as of: begin without cursor',
  ),
  conflict: failure(
    'conflict',
    'The transaction would revert, and the request asks not to send it then',
    'not sent, because it would revert: Past deadline (past_deadline). Build the transaction again.',
  ),
  rate_limited: failure(
    'rate_limited',
    'Too many requests per minute from one address, if the operator has set a limit (none by default), or too many concurrent streams or waits. `Retry-After` has the time to wait',
    'rate limit exceeded: at most 600 requests a minute',
  ),
  internal_error: failure(
    'internal_error',
    'An error of the service. Its log has the details under the request id',
    'internal error, request 3f0c8a1e-5d0e-4b57-9a5e-0f3c1d2b4a69',
  ),
  upstream_error: failure(
    'upstream_error',
    'A node, the pricing engine or the identity provider returned an error. The message contains its reason',
    'nonce too low',
  ),
  service_unavailable: failure(
    'service_unavailable',
    'A required node, the database or another service is out of reach, or the service is overloaded. `Retry-After` has the time to wait',
    'no node of chain 8453 answers',
  ),
} as const satisfies Record<string, Failure>

export type FailureName = keyof typeof failures

import { z } from 'zod'
import { type ErrorCode, errorCodes, invalid, MAX_DETAILS, ServiceError } from '../errors.ts'

/** The body of every error. */
export const ErrorBody = z
  .object({
    error: z.object({
      code: z.enum(errorCodes),
      message: z.string(),
      details: z
        .array(z.object({ path: z.string(), message: z.string() }))
        .optional()
        .meta({
          description: 'The fields at fault; `message` ends with how many more there are',
          maxItems: MAX_DETAILS,
        }),
    }),
  })
  .meta({ id: 'Error' })

export type ErrorBody = z.output<typeof ErrorBody>

/** The HTTP status of each error code. It is defined only here. */
export const statuses: Record<ErrorCode, number> = {
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  validation_error: 400,
  conflict: 409,
  rate_limited: 429,
  internal_error: 500,
  upstream_error: 502,
  service_unavailable: 503,
}

type Problem = { readonly status: number; readonly body: ErrorBody; readonly retryAfter?: number | undefined }

/** The default of `Retry-After`, in seconds. */
const RETRY_AFTER = 1

/** A retry may succeed later. */
const isTemporary = (code: ErrorCode): boolean => code === 'service_unavailable' || code === 'rate_limited'

/** A request that the HTTP framework rejected. It sets the status, and its code names the invalid part. */
const isClientError = (error: unknown): error is Error & { statusCode: number; code: string } =>
  error instanceof Error &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  'code' in error &&
  typeof error.code === 'string' &&
  error.statusCode >= 400 &&
  error.statusCode < 500

/** The response to a client for a thrown value. Internal details are only in the log, under the request's id. */
export const problem = (error: unknown, id: string): Problem => {
  if (error instanceof ServiceError) {
    const { code, message, details } = error
    const retryAfter = isTemporary(code) ? (error.retryAfter ?? RETRY_AFTER) : undefined
    const body = { error: { code, message, ...(details && { details: [...details] }) } }
    return { status: error.status ?? statuses[code], body, retryAfter }
  }
  if (isClientError(error)) {
    // The framework rejected the request before any handler: its body or its URL is malformed.
    const path = error.code.startsWith('FST_ERR_CTP') ? 'body' : 'url'
    const refused = problem(invalid(error.message, [{ path, message: error.message }]), id)
    return { ...refused, status: error.statusCode }
  }
  return { status: 500, body: { error: { code: 'internal_error', message: `internal error, request ${id}` } } }
}

import { z } from 'zod'
import { type ErrorCode, errorCodes, invalid, MAX_DETAILS, ServiceError } from './errors.ts'

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

/** The one place where an error has an HTTP status. */
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

/** Seconds until a retry makes sense when nobody said. */
const RETRY_AFTER = 1

/** Who comes back later may be answered. */
const isTemporary = (code: ErrorCode): boolean => code === 'service_unavailable' || code === 'rate_limited'

/** A refusal of the HTTP framework: it knows the status, and its code says what could not be taken. */
const isClientError = (error: unknown): error is Error & { statusCode: number; code: string } =>
  error instanceof Error &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  'code' in error &&
  typeof error.code === 'string' &&
  error.statusCode >= 400 &&
  error.statusCode < 500

/** What a client is told of anything thrown; what it must not know is in the log under the request's id. */
export const problem = (error: unknown, id: string): Problem => {
  if (error instanceof ServiceError) {
    const { code, message, details } = error
    const retryAfter = isTemporary(code) ? (error.retryAfter ?? RETRY_AFTER) : undefined
    const body = { error: { code, message, ...(details && { details: [...details] }) } }
    return { status: statuses[code], body, retryAfter }
  }
  if (isClientError(error)) {
    // The framework's own: the body or URL could not be taken as a request at all.
    const path = error.code.startsWith('FST_ERR_CTP') ? 'body' : 'url'
    const refused = problem(invalid(error.message, [{ path, message: error.message }]), id)
    return { ...refused, status: error.statusCode }
  }
  return { status: 500, body: { error: { code: 'internal_error', message: `internal error, request ${id}` } } }
}

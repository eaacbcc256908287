import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type ErrorCode, errorText, notFound, ServiceError } from '../../lib/errors.ts'
import type { ErrorBody } from '../envelope.ts'
import { corsHeaders } from './cors.ts'
import { requestId } from './request-id.ts'

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

const isClientError = (error: unknown): error is FastifyError & { statusCode: number } =>
  error instanceof Error &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  error.statusCode >= 400 &&
  error.statusCode < 500

/** What a client is told of anything thrown; what it must not know is in the log under the request's id. */
const problem = (error: unknown, id: string): Problem => {
  if (error instanceof ServiceError) {
    const { code, message, details } = error
    const retryAfter = code === 'service_unavailable' ? (error.retryAfter ?? RETRY_AFTER) : undefined
    const body = { error: { code, message, ...(details && { details: [...details] }) } }
    return { status: statuses[code], body, retryAfter }
  }
  if (isClientError(error)) {
    // The framework's own: the body or URL could not be taken as a request at all.
    const path = error.code.startsWith('FST_ERR_CTP') ? 'body' : 'url'
    const { message } = error
    return {
      status: error.statusCode,
      body: { error: { code: 'validation_error', message, details: [{ path, message }] } },
    }
  }
  return { status: 500, body: { error: { code: 'internal_error', message: `internal error, request ${id}` } } }
}

const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { status, body, retryAfter } = problem(error, request.id)
  // A cause may hold a node's URL; only what nobody foresaw is logged whole.
  if (status === 500) request.log.error({ err: error }, 'request failed')
  else if (status > 500) request.log.warn({ code: body.error.code, fault: errorText(error) }, 'request failed')
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  return reply.code(status).send(body)
}

/** Every error, whoever raises it, leaves in the specification's envelope with one of its codes. */
export const errors = fp(async (app) => {
  app.setErrorHandler(answer)
  app.setNotFoundHandler((request) => {
    throw notFound(`no route ${request.method} ${request.url.split('?', 1)[0]}`)
  })
})

/** For errors of the router, which are raised before any hook: the headers that hooks set come by hand. */
export const routerError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
  reply.headers({ ...corsHeaders, 'x-request-id': request.id })
  answer(error, request, reply)
}

const socketStatuses: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }

/** For bytes that are not an HTTP request, or too large or slow a one: there is only a socket to write to. */
export const socketError = (error: Error & { readonly code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const status = socketStatuses[error.code ?? ''] ?? 400
  const message = STATUS_CODES[status] ?? 'Bad Request'
  const body = JSON.stringify({ error: { code: 'validation_error', message, details: [{ path: 'url', message }] } })
  const headers = {
    ...corsHeaders,
    'x-request-id': requestId({ headers: {} }),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  if (socket.writable) socket.write(`${[`HTTP/1.1 ${status} ${message}`, ...lines].join('\r\n')}\r\n\r\n${body}`)
  socket.destroy(error)
}

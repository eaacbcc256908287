import { maxHeaderSize, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { errorText, notFound } from '../../lib/errors.ts'
import { problem } from '../../lib/problem.ts'
import { MAX_PARAM_LENGTH } from '../limits.ts'
import { standardHeaders } from './headers.ts'
import { requestId } from './request-id.ts'

/** What the framework refuses in words that do not name the limit, or repeat a URL whose query may hold a secret; by its code. */
const refusals: Readonly<Record<string, (request: FastifyRequest) => string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) => `the body is larger than ${routeOptions.bodyLimit} bytes`,
  FST_ERR_BAD_URL: () => 'the path is not percent-encoded as it must be',
  FST_ERR_MAX_PARAM_LENGTH: () => `a parameter of the path is longer than ${MAX_PARAM_LENGTH} characters`,
}

const named = (error: unknown, request: FastifyRequest): unknown => {
  if (!(error instanceof Error && 'code' in error)) return error
  const words = refusals[String(error.code)]
  return words === undefined ? error : Object.assign(error, { message: words(request) })
}

const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { status, body, retryAfter } = problem(named(error, request), request.id)
  // A cause may hold a node's URL; only what nobody foresaw is logged whole.
  if (status === 500) request.log.error({ err: error }, 'request failed')
  else if (status > 500 && !request.raw.socket.destroyed)
    request.log.warn({ code: body.error.code, fault: errorText(error) }, 'request failed')
  // What is wrong now may be right at the next request.
  reply.header('cache-control', 'no-store').removeHeader('etag')
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  // A connection closed on a client that still sends takes the answer with it: the rest of the body is read and dropped instead.
  if (status === 413) reply.removeHeader('connection')
  return reply.code(status).send(body)
}

/** Every error, whoever raises it, leaves in the specification's envelope with one of its codes. */
export const errors = fp(async (app) => {
  app.setErrorHandler(answer)
  app.setNotFoundHandler((request) => {
    throw notFound(`no route ${request.method} ${request.url.split('?', 1)[0]}`)
  })
})

/** For errors of the router, which are raised before any hook. */
export const routerError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
  reply.headers(standardHeaders(request.id))
  answer(error, request, reply)
}

const socketFaults: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not arrive in time' },
  HPE_HEADER_OVERFLOW: { status: 431, message: `URL and headers are larger than ${maxHeaderSize} bytes` },
}

/** For bytes that are not an HTTP request, or too large or slow a one: there is only a socket to write to. */
export const socketError = (error: Error & { readonly code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const { status, message } = socketFaults[error.code ?? ''] ?? { status: 400, message: 'not an HTTP request' }
  const body = JSON.stringify({ error: { code: 'validation_error', message, details: [{ path: 'url', message }] } })
  const headers = {
    ...standardHeaders(requestId({ headers: {} })),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  if (socket.writable)
    socket.write(`${[`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines].join('\r\n')}\r\n\r\n${body}`)
  socket.destroy(error)
}

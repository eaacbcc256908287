import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { errorText, notFound } from '../../lib/errors.ts'
import { problem } from '../../lib/problem.ts'
import { corsHeaders } from './cors.ts'
import { requestId } from './request-id.ts'

const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { status, body, retryAfter } = problem(error, request.id)
  // A cause may hold a node's URL; only what nobody foresaw is logged whole.
  if (status === 500) request.log.error({ err: error }, 'request failed')
  else if (status > 500) request.log.warn({ code: body.error.code, fault: errorText(error) }, 'request failed')
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

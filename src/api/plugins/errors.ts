import { maxHeaderSize, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { clip, errorText } from '../../lib/errors.ts'
import { problem } from '../../lib/http/problem.ts'
import { requestId } from '../access.ts'
import { helpLink } from '../help.ts'
import { MAX_PARAM_LENGTH } from '../limits/limits.ts'
import { sendNotFound } from '../not-found.ts'
import { standardHeaders } from './headers.ts'

/** Most characters of a content type in a message. */
const MAX_TYPE = 60

/** Messages, by error code, for framework errors that lack the limit or repeat a URL, which may contain a secret. */
const refusals: Readonly<Record<string, (request: FastifyRequest) => string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) => `the body is larger than ${routeOptions.bodyLimit} bytes`,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ headers }) => {
    const given = headers['content-type']
    return `expected JSON with the header content-type: application/json, got ${given === undefined ? 'no content type' : clip(given, MAX_TYPE)}`
  },
  FST_ERR_CTP_EMPTY_JSON_BODY: () => 'is required: expected a JSON object',
  FST_ERR_CTP_INVALID_JSON_BODY: () =>
    'expected valid JSON: names and texts in double quotes, no comma after the last, and no field `__proto__` or `constructor`',
  FST_ERR_BAD_URL: () => 'the path has an invalid percent-encoding',
  FST_ERR_MAX_PARAM_LENGTH: () => `a parameter of the path is longer than ${MAX_PARAM_LENGTH} characters`,
}

const reworded = (error: unknown, request: FastifyRequest): unknown => {
  if (!(error instanceof Error && 'code' in error)) return error
  const message = refusals[String(error.code)]
  return message === undefined ? error : Object.assign(error, { message: message(request) })
}

const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { status, body, retryAfter } = problem(reworded(error, request), request.id)
  // Only unexpected errors are logged with their cause, because a cause may contain a node's URL.
  if (status === 500) request.log.error({ err: error }, 'request failed')
  else if (status > 500 && !request.raw.socket.destroyed)
    request.log.warn({ code: body.error.code, fault: errorText(error) }, 'request failed')
  // The next request may succeed, so an error is never cached.
  reply.header('cache-control', 'no-store').removeHeader('etag').removeHeader('content-encoding')
  // A deprecated route has a link of its own.
  const links = [reply.getHeader('link'), helpLink(request.url, body.error.code)].filter((it) => it !== undefined)
  if (links.length > 0) reply.header('link', links.join(', '))
  // A route with another scheme has set its own.
  if (status === 401 && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', 'Bearer')
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  // Closing the connection while the client still sends would lose the response: the rest of the body is dropped.
  if (status === 413) reply.removeHeader('connection')
  return reply.code(status).send(body)
}

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

/** Collects the routes that are mounted after it. Returns a function that lists the methods that a path takes. */
const collectMethods = (app: FastifyInstance) => {
  const routes: { readonly method: string; readonly segments: readonly string[] }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) routes.push({ method: name, segments: segmentsOf(url) })
  })
  return (path: string): string[] => {
    const given = segmentsOf(path)
    const matches = (segments: readonly string[]): boolean =>
      segments.length === given.length && segments.every((it, at) => it.startsWith(':') || it === given[at])
    return routes.flatMap(({ method, segments }) => (matches(segments) ? [method] : [])).sort()
  }
}

/**
 * Sends every error in the specification's envelope with one of its codes. A 404 for a path that takes other methods
 * names them. It is no 405, because no code of the specification belongs to one. A browser gets a 404 as a page.
 */
export const errors = fp<{ readonly explorer?: boolean }>(async (app, { explorer = true }) => {
  const methodsOf = collectMethods(app)
  app.setErrorHandler(answer)
  app.setNotFoundHandler(async (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const methods = methodsOf(path).join(', ')
    if (methods !== '') reply.header('allow', methods)
    const isDocs = /^\/(?:v1\/)?docs(?:\/|$)/.test(path)
    const hint = methods === '' ? isDocs && ': the documentation is at /v1/docs' : `: the path takes ${methods}`
    const message = `no route ${request.method} ${path}${hint || ''}`
    const taken = methods === '' ? undefined : `This is no page. The address takes ${methods} requests of programs.`
    return sendNotFound(request, reply, message, explorer, taken)
  })
})

/** Handles errors of the router, which occur before any hook runs. */
export const routerError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
  reply.headers(standardHeaders(request.id))
  answer(error, request, reply)
}

const socketFaults: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not arrive in time' },
  HPE_HEADER_OVERFLOW: { status: 431, message: `URL and headers are larger than ${maxHeaderSize} bytes` },
}

/** Handles data that is not an HTTP request, and requests that are too large or slow. There is only a socket. */
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
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  if (socket.writable) socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  socket.destroy(error)
}

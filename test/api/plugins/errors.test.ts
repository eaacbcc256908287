import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import Fastify, { LogController } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { errors, routerError, socketError } from '../../../src/api/plugins/errors.ts'
import { conflict, ServiceError, unauthorized, unavailable, upstream } from '../../../src/lib/errors.ts'

const open = async () => {
  const lines: { readonly level: number; readonly msg: string; readonly fault?: string; readonly code?: string }[] = []
  const app = Fastify({
    ...{ frameworkErrors: routerError, genReqId: () => 'mine', bodyLimit: 100 },
    logger: { level: 'info', stream: { write: (line: string) => void lines.push(JSON.parse(line)) } },
    logController: new LogController({ disableRequestLogging: true }),
  })
  onTestFinished(() => app.close())
  await app.register(errors)
  const state: { fault: unknown; isGone: boolean; scheme?: string } = { fault: null, isGone: false }
  app.get('/v1/fail', async (request, reply) => {
    reply.headers({ etag: '"a"', 'cache-control': 'public', 'content-encoding': 'br', link: '<b>; rel="deprecation"' })
    if (state.scheme) reply.header('www-authenticate', state.scheme)
    if (state.isGone) Object.assign(request.raw.socket, { destroyed: true })
    throw state.fault
  })
  app.post('/v1/body', async () => ({}))
  app.get('/v1/things/:id', async () => 'a')
  app.put('/v1/things/own', async () => 'a')
  app.put('/v1/both', async () => 'a')
  app.get('/v1/both', async () => 'a')
  return { app, lines, state }
}

test.each([
  [unauthorized('who?'), 401, 'unauthorized', { 'www-authenticate': 'Bearer' }],
  [conflict('not now', []), 409, 'conflict', {}],
  [new ServiceError('validation_error', 'too long', { status: 414 }), 414, 'validation_error', {}],
  [new ServiceError('rate_limited', 'slowly', { retryAfter: 7 }), 429, 'rate_limited', { 'retry-after': '7' }],
  [upstream('the node refuses'), 502, 'upstream_error', {}],
  [unavailable('no node', undefined, 3), 503, 'service_unavailable', { 'retry-after': '3' }],
  [unavailable('no node'), 503, 'service_unavailable', { 'retry-after': '1' }],
] as const)('%s is a %i with the code %s', async (fault, status, code, own) => {
  const { app, state, lines } = await open()
  state.fault = fault
  const { statusCode, headers, body } = await app.inject('/v1/fail')
  expect([statusCode, JSON.parse(body).error]).toMatchObject([status, { code, message: fault.message }])
  expect(headers).toMatchObject({
    ...{ 'cache-control': 'no-store', ...own },
    link: `<b>; rel="deprecation", <../v1/docs/guide/errors#${code}>; rel="help"`,
  })
  for (const name of ['etag', 'content-encoding', 'retry-after', 'www-authenticate'])
    if (!(name in own)) expect(headers).not.toHaveProperty(name)
  const warning = { level: 40, code, fault: fault.message, msg: 'request failed' }
  expect(lines).toEqual(status > 500 ? [expect.objectContaining(warning)] : [])
})

test('a route with another scheme keeps its own challenge', async () => {
  const { app, state } = await open()
  Object.assign(state, { fault: unauthorized('who?'), scheme: 'ApiKey' })
  expect((await app.inject('/v1/fail')).headers['www-authenticate']).toBe('ApiKey')
})

test('an unexpected error is a 500 that shows nothing of it, and is logged with its cause', async () => {
  const { app, state, lines } = await open()
  state.fault = new Error('a secret')
  const { statusCode, body } = await app.inject('/v1/fail')
  expect([statusCode, JSON.parse(body)]).toEqual([
    500,
    { error: { code: 'internal_error', message: 'internal error, request mine' } },
  ])
  expect(lines).toEqual([expect.objectContaining({ level: 50, err: expect.objectContaining({ message: 'a secret' }) })])
})

test('an error of a client that left is not logged, unless it is unexpected', async () => {
  const { app, state, lines } = await open()
  Object.assign(state, { fault: unavailable('the client disconnected'), isGone: true })
  await app.inject('/v1/fail')
  expect(lines).toEqual([])
  state.fault = new Error('a bug')
  await app.inject('/v1/fail')
  expect(lines).toHaveLength(1)
})

test('a body that is too large, of another type or no JSON is refused with its limit and what to send', async () => {
  const { app } = await open()
  const post = async (payload: string, type = 'application/json') => {
    const answer = await app.inject({ method: 'POST', url: '/v1/body', payload, headers: { 'content-type': type } })
    return [answer.statusCode, answer.json().error?.message]
  }
  expect(await post(`"${'a'.repeat(98)}"`)).toEqual([200, undefined])
  expect(await post(`"${'a'.repeat(99)}"`)).toEqual([413, 'the body is larger than 100 bytes'])
  // The connection stays open: to close it while the client sends would lose the answer.
  const headers = { 'content-type': 'application/json' }
  const large = await app.inject({ method: 'POST', url: '/v1/body', payload: 'a'.repeat(101), headers })
  expect([large.statusCode, large.headers.connection]).toEqual([413, undefined])
  expect(await post('{}', 'text/csv')).toEqual([415, expect.stringContaining('got text/csv')])
  expect(await post('{')).toEqual([400, expect.stringContaining('expected valid JSON')])
  expect(await post('')).toEqual([400, expect.stringContaining('is required')])
})

test.each([
  ['GET', '/v1/body?a=1', 'POST', 'no route GET /v1/body: the path takes POST'],
  ['POST', '/v1/things/7', 'GET, HEAD', 'no route POST /v1/things/7: the path takes GET, HEAD'],
  ['POST', '/v1/things/own', 'GET, HEAD, PUT', 'no route POST /v1/things/own: the path takes GET, HEAD, PUT'],
  ['GET', '/v1/things', undefined, 'no route GET /v1/things'],
  ['GET', '/v1/things/7/8', undefined, 'no route GET /v1/things/7/8'],
  ['POST', '/v1/both', 'GET, HEAD, PUT', 'no route POST /v1/both: the path takes GET, HEAD, PUT'],
  ['GET', '/docs', undefined, 'no route GET /docs: the documentation is at /v1/docs'],
  ['GET', '/v1/docs/a', undefined, 'no route GET /v1/docs/a: the documentation is at /v1/docs'],
  ['GET', '/docs2', undefined, 'no route GET /docs2'],
] as const)('%s %s is a 404 that names the methods of the path: %s', async (method, url, allow, message) => {
  const { app } = await open()
  const { statusCode, headers, body } = await app.inject({ method, url })
  expect([statusCode, headers.allow, JSON.parse(body).error.message]).toEqual([404, allow, message])
})

test('a path that cannot be decoded has the standard headers, and is not repeated', async () => {
  const { app } = await open()
  const { statusCode, headers, body } = await app.inject('/v1/things/%zz')
  expect([statusCode, headers['x-request-id'], headers['access-control-allow-origin']]).toEqual([400, 'mine', '*'])
  expect(body).toContain('the path has an invalid percent-encoding')
  expect(body).not.toContain('%zz')
})

/** A socket that keeps what is written to it. */
class FakeSocket extends EventEmitter {
  destroyed = false
  writable = true
  text = ''
  reason: Error | undefined
  write(text: string): void {
    this.text += text
  }
  destroy(reason?: Error): void {
    this.destroyed = true
    this.reason = reason
  }
}

const fail = (code: string, change: Partial<FakeSocket> = {}) => {
  const socket = Object.assign(new FakeSocket(), change)
  const error = Object.assign(new Error('bad'), { code })
  socketError(error, socket as unknown as Socket)
  return { socket, error }
}

test.each([
  ['HPE_INVALID_METHOD', 'HTTP/1.1 400 Bad Request', 'not an HTTP request'],
  [
    'HPE_HEADER_OVERFLOW',
    'HTTP/1.1 431 Request Header Fields Too Large',
    'URL and headers are larger than 16384 bytes',
  ],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'HTTP/1.1 408 Request Timeout', 'the request did not arrive in time'],
])('data with the fault %s is answered by %s, and its connection ends', (code, line, message) => {
  const { socket, error } = fail(code)
  const [head = '', body = ''] = socket.text.split('\r\n\r\n')
  expect(head.split('\r\n')[0]).toBe(line)
  expect(head).toMatch(/\r\nconnection: close(\r\n|$)/)
  expect(head).toContain(`\r\ncontent-length: ${body.length}`)
  expect(head).toContain('\r\naccess-control-allow-origin: *\r\n')
  expect(JSON.parse(body).error).toEqual({ code: 'validation_error', message, details: [{ path: 'url', message }] })
  expect([socket.destroyed, socket.reason]).toEqual([true, error])
})

test('nothing is written to a connection that is gone, or that takes nothing', () => {
  expect(fail('ECONNRESET').socket).toMatchObject({ text: '', destroyed: false })
  expect(fail('HPE_INVALID_METHOD', { destroyed: true }).socket).toMatchObject({ text: '', reason: undefined })
  expect(fail('HPE_INVALID_METHOD', { writable: false }).socket).toMatchObject({ text: '', destroyed: true })
})

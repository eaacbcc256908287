import { EventEmitter, getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createAccess, requestId, traceOf } from '../../src/api/access.ts'
import { asPartOf, clientOf, isPart, onResponseEnd, rawAddressOf, trustsProxy } from '../../src/api/client.ts'
import { helpLink } from '../../src/api/help.ts'
import { linkHeader, relativeUrl } from '../../src/api/link.ts'
import { markReverted } from '../../src/api/reverted.ts'

const openSocket = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed, remoteAddress: '192.0.2.1' })
type FakeSocket = ReturnType<typeof openSocket>

const requestOn = (socket: FakeSocket) => ({ ip: '192.0.2.1:80', raw: { socket } }) as unknown as FastifyRequest
const responseOn = (socket: FakeSocket) =>
  Object.assign(new EventEmitter(), { req: { socket } }) as unknown as ServerResponse & EventEmitter

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a client has the address of its request, and a signal that aborts when its connection closes', () => {
  const socket = openSocket()
  const [first, second] = [clientOf(requestOn(socket)), clientOf(requestOn(socket))]
  expect([first.address, first.disconnected.aborted]).toEqual(['192.0.2.1', false])
  // The requests of a connection share the signal, so that it has one listener.
  expect(second.disconnected).toBe(first.disconnected)
  expect(socket.listenerCount('close')).toBe(1)
  socket.emit('close')
  expect(first.disconnected.aborted).toBe(true)
  expect(first.disconnected.reason).toMatchObject({ code: 'service_unavailable', message: 'the client disconnected' })
})

test('a request that is part of another one has its client, also after a pause, and no other request has', async () => {
  const client = clientOf(requestOn(openSocket()))
  const part = asPartOf(client, async () => {
    await turn()
    return [isPart(), clientOf(requestOn(openSocket()))]
  })
  expect([isPart(), clientOf(requestOn(openSocket())) === client]).toEqual([false, false])
  expect(await part).toEqual([true, client])
})

test('the signal of a connection that is closed already has aborted', () => {
  const { disconnected } = clientOf(requestOn(openSocket(true)))
  expect([disconnected.aborted, disconnected.reason]).toMatchObject([true, { message: 'the client disconnected' }])
})

test.each([
  ['its response closes', (response: EventEmitter) => response.emit('close')],
  ['its connection closes', (_: EventEmitter, socket: FakeSocket) => socket.emit('close')],
  [
    'both close',
    (response: EventEmitter, socket: FakeSocket) => {
      socket.emit('close')
      response.emit('close')
    },
  ],
])('a response ends once, when %s', async (_, close) => {
  const socket = openSocket()
  const response = responseOn(socket)
  let ends = 0
  onResponseEnd(response, () => {
    ends += 1
  })
  await turn()
  expect(ends).toBe(0)
  close(response, socket)
  await turn()
  expect([ends, response.listenerCount('close')]).toEqual([1, 0])
  expect(getEventListeners(clientOf(requestOn(socket)).disconnected, 'abort')).toHaveLength(0)
})

test('a response on a connection that is closed already ends', async () => {
  let ends = 0
  onResponseEnd(responseOn(openSocket(true)), () => {
    ends += 1
  })
  await turn()
  expect(ends).toBe(1)
})

test('the first hops are trusted proxies, as many as configured', () => {
  const trusts = trustsProxy(2)
  expect([0, 1, 2, 3].map((hop) => trusts('', hop))).toEqual([true, true, false, false])
  const request = (forwarded: string) =>
    ({ headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress: '10.0.0.9' } }) as never
  expect(rawAddressOf(0)(request('203.0.113.7'))).toBe('10.0.0.9')
  expect(rawAddressOf(1)(request('203.0.113.7, 198.51.100.2'))).toBe('198.51.100.2')
  expect(rawAddressOf(2)(request('203.0.113.7, 198.51.100.2'))).toBe('203.0.113.7')
})

test.each(['a', 'A.b:c-d_1', 'x'.repeat(128)])('the id %.12s of a client is kept', (id) => {
  expect(requestId({ headers: { 'x-request-id': id } })).toBe(id)
})

test.each([undefined, '', 'a b', 'ä', 'a\n', 'x'.repeat(129), ['a', 'b']])(
  'a request with the id %.12j gets another one',
  (id) => {
    const given = requestId({ headers: { 'x-request-id': id } as never })
    expect(given).toMatch(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/)
    expect(requestId({ headers: {} })).not.toBe(given)
  },
)

test('the trace of a request is that of a whole traceparent', () => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  expect(traceOf({ headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` } })).toBe(trace)
  for (const traceparent of [
    undefined,
    `00-${trace}`,
    `00-${trace}0-b7ad6b7169203331-01`,
    `x00-${trace}-b7ad6b7169203331-01`,
  ])
    expect(traceOf({ headers: { traceparent } as never })).toBeUndefined()
})

test('an ended request is observed, and has a log line unless its client left', () => {
  const observed: unknown[] = []
  const written: object[] = []
  const log = pino({ base: {}, timestamp: false }, { write: (line) => void written.push(JSON.parse(line)) })
  const access = createAccess((ended) => void observed.push(ended), log)
  const get = { method: 'GET', route: '/a', status: 200, ms: 1.5 } as const
  const missing = { method: 'POST', route: undefined, status: 404, ms: 0.4 } as const
  const left = { ...get, status: 'left' } as const
  access(get, 'id1', 'trace')
  access(missing, 'id2', undefined)
  access(left, 'id3', undefined)
  expect(observed).toEqual([get, missing, left])
  expect(written).toEqual([
    { ...get, level: 30, requestId: 'id1', ms: 2, traceId: 'trace', msg: 'answered' },
    { level: 30, requestId: 'id2', method: 'POST', status: 404, ms: 0, msg: 'answered' },
  ])
})

test.each([
  ['/', './v1/page'],
  ['/a', './v1/page'],
  ['/a?b=/c/d', './v1/page'],
  ['/a/', '../v1/page'],
  ['/v1/a/b', '../../v1/page'],
  ['https://host.example/v1/a', '../v1/page'],
  [`/${'a/'.repeat(16)}b`, `${'../'.repeat(16)}v1/page`],
  [`/${'a/'.repeat(17)}b`, undefined],
  ['*', undefined],
  ['', undefined],
])('from %.40s a page of the service is at %s', (url, link) => {
  expect(relativeUrl(url, 'v1/page')).toBe(link)
})

test('the link of an error leads to its code in the guide, and is left out where there is no path', () => {
  expect(helpLink('/v1/a', 'not_found')).toBe('<../v1/docs/guide/errors#not_found>; rel="help"')
  expect(helpLink('*', 'not_found')).toBeUndefined()
})

test('the link to the next page has at most 8,192 characters, and there is none without a next page', () => {
  const around = '<?a=&cursor=c>; rel="next"'.length
  const linkOf = (length: number) => linkHeader(`/v1/x?a=${'b'.repeat(length)}`, 'c').link
  expect(linkOf(8_192 - around)).toHaveLength(8_192)
  expect(linkOf(8_193 - around)).toBeUndefined()
  expect([linkHeader('/v1/x', null), linkHeader('/v1/x', undefined)]).toEqual([{}, {}])
  expect(linkHeader('/v1/x?_=1&a_=2', 'c').link).toBe('<?a_=2&cursor=c>; rel="next"')
})

test('only the response to a read after a reverted transaction is marked', () => {
  const set: unknown[] = []
  const reply = { header: (...header: readonly string[]) => void set.push(header) } as never
  expect(markReverted(reply, null)).toBeUndefined()
  expect(markReverted(reply, { block: 1n, isReverted: false })).toBeUndefined()
  expect(set).toEqual([])
  expect(markReverted(reply, { block: 1n, isReverted: true })).toEqual({ transaction: 'reverted' })
  expect(set).toEqual([['x-transaction', 'reverted']])
})

import { once } from 'node:events'
import { get, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { openStream, resumedFrom } from '../../../src/api/streams/open.ts'
import { createStreamCapacity, type StreamStart } from '../../../src/api/streams/shared.ts'
import { eventually } from '../../support/process.ts'
import { openFeed, settled, startAt } from './fake-feed.ts'

test('places are counted in total and for each address, until each is given back', () => {
  const capacity = createStreamCapacity(4, 2)
  const give = [capacity.take('a'), capacity.take('a')]
  const full = { code: 'rate_limited', retryAfter: 5 }
  const message = 'stream limit of your address reached (2): close a stream first'
  expect(() => capacity.take('a')).toThrowError(expect.objectContaining({ ...full, message }))
  give.push(capacity.take('b'), capacity.take('c'))
  const total = { code: 'service_unavailable', retryAfter: 5, message: 'stream limit reached (4): try again later' }
  expect(() => capacity.take('d')).toThrowError(expect.objectContaining(total))
  give[0]?.()
  give[2]?.()
  capacity.take('a')
  expect(() => capacity.take('a')).toThrowError(expect.objectContaining(full))
  capacity.take('b')
  expect(() => capacity.take('e')).toThrowError(expect.objectContaining(total))
})

/** A server with a stream at `/`, which begins where `begin` resolves to. */
const serve = async (options: Parameters<typeof openFeed>[0] = {}) => {
  const feed = openFeed(options)
  const state = { begin: async (): Promise<StreamStart> => startAt(0), begun: 0 }
  const app = Fastify()
  onTestFinished(async () => {
    feed.streams.close()
    await app.close()
  })
  app.setErrorHandler((fault: Error & { code?: string }, _, reply) => reply.code(500).send(fault.code ?? fault.message))
  app.get('/', (request, reply) => {
    const begin = () => {
      state.begun += 1
      return state.begin()
    }
    return openStream(feed.streams, request, reply, begin, 'all')
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const connect = async (method = 'GET') => {
    const sent = request(origin, { method, agent: false }).on('error', () => {})
    const [response]: [IncomingMessage] = (await once(sent.end(), 'response')) as never
    return { status: response.statusCode, headers: response.headers, response, leave: () => sent.destroy() }
  }
  /** Whether `count` places can be taken now; gives them back. */
  const hasPlaces = (count: number, address = '127.0.0.1'): boolean => {
    const taken: (() => void)[] = []
    try {
      for (let nth = 0; nth < count; nth += 1) taken.push(feed.streams.reserve(address))
      return true
    } catch {
      return false
    } finally {
      for (const give of taken) give()
    }
  }
  return { ...feed, origin, state, connect, hasPlaces }
}

test('a stream has the headers of one, takes a place, and gives it back when its client leaves', async () => {
  const { connect, hasPlaces, streams } = await serve({ maxPerClient: 2 })
  const { status, headers, leave } = await connect()
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    ...{ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
    ...{ 'x-accel-buffering': 'no', 'x-data-source': 'database' },
  })
  expect([streams.counts().open, hasPlaces(1), hasPlaces(2)]).toEqual([1, true, false])
  leave()
  await eventually('the place is free', () => hasPlaces(2))
  expect(streams.counts().open).toBe(0)
})

test('a HEAD request has the headers of the stream, and keeps no place', async () => {
  const { connect, hasPlaces, streams } = await serve({ maxPerClient: 1 })
  const { status, headers } = await connect('HEAD')
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
  await eventually('the place is free', () => hasPlaces(1))
  expect(streams.counts().open).toBe(0)
})

test('a stream that cannot begin is an error, and keeps no place', async () => {
  const { connect, hasPlaces, state } = await serve({ maxPerClient: 1 })
  state.begin = () => Promise.reject(new Error('no database'))
  const { status, response } = await connect()
  expect([status, await text(response)]).toEqual([500, 'no database'])
  await eventually('the place is free', () => hasPlaces(1))
})

test('a client that leaves before its stream begins keeps no place, and no stream is opened', async () => {
  const { origin, hasPlaces, state, streams } = await serve({ maxPerClient: 1 })
  let go = (_: StreamStart): void => {}
  state.begin = () =>
    new Promise((resolve) => {
      go = resolve
    })
  const request = get(origin).on('error', () => {})
  await eventually('it begins', () => state.begun === 1)
  expect(hasPlaces(1)).toBe(false)
  request.destroy()
  await eventually('the place is free', () => hasPlaces(1))
  go(startAt(0))
  await settled()
  expect(streams.counts()).toEqual({ open: 0, dropped: 0 })
})

test('a stream above the limit of its address is refused before it begins, and takes no place', async () => {
  const { connect, hasPlaces, state } = await serve({ maxPerClient: 1 })
  const first = await connect()
  const second = await connect()
  expect([second.status, await text(second.response), state.begun]).toEqual([500, 'rate_limited', 1])
  first.leave()
  await eventually('the place is free', () => hasPlaces(1))
  expect(hasPlaces(2)).toBe(false)
})

test.each([
  ['the header', { 'last-event-id': '7' }, undefined, { cursor: 7, name: 'Last-Event-ID' }],
  ['the header before the parameter', { 'last-event-id': '7' }, 8, { cursor: 7, name: 'Last-Event-ID' }],
  ['the parameter', {}, 8, { cursor: 8, name: 'lastEventId' }],
  ['the parameter where the header is empty', { 'last-event-id': '' }, 8, { cursor: 8, name: 'lastEventId' }],
  ['the parameter 0', {}, 0, { cursor: 0, name: 'lastEventId' }],
  ['neither', {}, undefined, null],
] as const)('a stream resumes from %s', (_, headers, parameter, resumed) => {
  expect(resumedFrom({ headers } as never, parameter as number | undefined, Number)).toEqual(resumed)
})

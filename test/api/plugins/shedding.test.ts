import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { createLoad, shedding } from '../../../src/api/plugins/shedding.ts'
import { eventually } from '../../support/process.ts'

test('a delay is load when it lasts longer than a second, and a new one after five seconds without any', () => {
  let ms = 7_000
  const isLoad = createLoad(() => ms)
  const at = (next: number): boolean => {
    ms = next
    return isLoad()
  }
  expect([at(7_000), at(7_500), at(8_000), at(8_001)]).toEqual([false, false, false, true])
  // Exactly five seconds later it goes on.
  expect(at(13_001)).toBe(true)
  expect([at(18_002), at(19_002), at(19_003)]).toEqual([false, false, true])
})

const limits = { maxEventLoopDelayMs: 0, maxHeapBytes: 0 }

const open = async (own: Partial<typeof limits>) => {
  const refused = { load: 0, rate: 0, unread: 0 }
  const app = Fastify({ genReqId: () => 'mine' })
  onTestFinished(() => app.close())
  await app.register(shedding, { limits: { ...limits, ...own } as never, refused })
  let handled = 0
  app.get('/v1/page', async () => {
    handled += 1
    return 'a'
  })
  app.get('/livez', { config: { unlimited: true } }, async () => 'a')
  await app.ready()
  return { app, refused, handled: () => handled }
}

test('while the heap is full, requests are a 503 without being handled, and health endpoints answer', async () => {
  const { app, refused, handled } = await open({ maxHeapBytes: 1 })
  await eventually('the heap is measured', async () => (await app.inject('/v1/page')).statusCode === 503)
  const [before, load] = [handled(), refused.load]
  const { statusCode, headers, body } = await app.inject('/v1/page')
  expect(statusCode).toBe(503)
  expect(headers).toMatchObject({
    ...{ 'retry-after': '2', 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' },
    ...{ 'content-length': String(body.length), 'access-control-allow-origin': '*', 'x-request-id': 'mine' },
    link: '<../v1/docs/guide/errors#service_unavailable>; rel="help"',
  })
  expect(JSON.parse(body)).toEqual({
    error: { code: 'service_unavailable', message: 'overloaded: try again after 2 s' },
  })
  expect([handled(), refused]).toEqual([before, { load: load + 1, rate: 0, unread: 0 }])
  expect((await app.inject('/livez')).statusCode).toBe(200)
  expect(refused.load).toBe(load + 1)
})

test('a heap below its limit rejects nothing', async () => {
  const { app, refused } = await open({ maxHeapBytes: 2 ** 40 })
  await eventually('the heap is measured', () => app.memoryUsage().heapUsed > 0)
  expect([(await app.inject('/v1/page')).statusCode, refused.load]).toEqual([200, 0])
})

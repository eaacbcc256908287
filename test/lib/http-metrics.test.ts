import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { createRequestMetrics, type Ended, onEnd } from '../../src/lib/http/metrics.ts'
import { createMetrics } from '../../src/lib/observe/metrics.ts'

const NAME = 'fx_http_request_duration_seconds'

test('requests are counted by method, route and class of status, in the first bucket that holds them', async () => {
  const metrics = createMetrics()
  const observe = createRequestMetrics(metrics)
  const get = { method: 'GET', route: '/v1/a', status: 200 } as const
  for (const ms of [5, 5.001, 20_000]) observe({ ...get, ms })
  observe({ ...get, status: 299, ms: 1 })
  observe({ ...get, method: 'POST', status: 503, ms: 1 })
  observe({ ...get, status: 'left', ms: 1 })
  // Streams last as long as their clients want.
  observe({ ...get, isStream: true, ms: 60_000 })
  for (const status of [304, 304, 200]) observe({ ...get, route: undefined, status, ms: 1 })
  const text = await metrics.metrics()
  const of = (method: string, status: string, route = '/v1/a') =>
    `method="${method}",route="${route}",status="${status}"`
  const lines = [
    `${NAME}_bucket{le="0.0025",${of('GET', '2xx')}} 1`,
    `${NAME}_bucket{le="0.005",${of('GET', '2xx')}} 2`,
    `${NAME}_bucket{le="0.01",${of('GET', '2xx')}} 3`,
    `${NAME}_bucket{le="10",${of('GET', '2xx')}} 3`,
    `${NAME}_bucket{le="+Inf",${of('GET', '2xx')}} 4`,
    `${NAME}_count{${of('GET', '2xx')}} 4`,
    `${NAME}_count{${of('POST', '5xx')}} 1`,
    `${NAME}_count{${of('GET', 'left')}} 1`,
    `${NAME}_count{${of('GET', '3xx', 'unknown')}} 2`,
    'fx_http_not_modified_total 2',
  ]
  for (const line of lines) expect(text).toContain(`${line}\n`)
  expect(Number(new RegExp(`${NAME}_sum\\{${of('GET', '2xx')}\\} (.*)`).exec(text)?.[1])).toBeCloseTo(20.011001, 9)
})

test('each request ends once: with its status when it was answered, and as left when its client is gone', async () => {
  const app = fastify()
  const seen: Ended[] = []
  onEnd(app, (it) => void seen.push(it))
  let arrived = (): void => {}
  const isHere = new Promise<void>((resolve) => (arrived = resolve))
  app.get('/v1/slow', () => {
    arrived()
    return new Promise(() => {})
  })
  app.get('/v1/stream', (_, reply) => {
    reply.header('content-type', 'text/event-stream; charset=utf-8').hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).end()
  })
  app.get('/v1/:id', async (_, reply) => reply.code(202).send('yes'))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  expect((await fetch(`http://127.0.0.1:${port}/v1/7`)).status).toBe(202)
  expect((await fetch(`http://127.0.0.1:${port}/nothing`)).status).toBe(404)
  expect((await fetch(`http://127.0.0.1:${port}/v1/stream`)).status).toBe(200)
  const leaving = request({ port, host: '127.0.0.1', path: '/v1/slow' })
  leaving.on('error', () => {})
  leaving.end()
  await isHere
  leaving.destroy()
  await expect.poll(() => seen.length).toBe(4)
  expect(seen).toEqual([
    { method: 'GET', route: '/v1/:id', status: 202, isStream: false, ms: expect.any(Number) },
    { method: 'GET', route: undefined, status: 404, isStream: false, ms: expect.any(Number) },
    { method: 'GET', route: '/v1/stream', status: 200, isStream: true, ms: expect.any(Number) },
    { method: 'GET', route: '/v1/slow', status: 'left', isStream: false, ms: expect.any(Number) },
  ])
  await app.close()
})

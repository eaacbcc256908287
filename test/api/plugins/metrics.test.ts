import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { metrics as measured } from '../../../src/api/plugins/metrics.ts'
import { createMetrics } from '../../../src/lib/observe/metrics.ts'

const open = async (countedLocally: number | null) => {
  const app = Fastify({ genReqId: () => 'mine' })
  onTestFinished(() => app.close())
  const metrics = createMetrics()
  const ended: unknown[] = []
  const streams = [
    { counts: () => ({ open: 1, dropped: 20 }) },
    { counts: () => ({ open: 4, dropped: 10 }) },
    { counts: () => ({ open: 0, dropped: 1 }) },
  ]
  const refused = { load: 6, rate: 7, unread: 8 }
  await app.register(measured, {
    metrics,
    access: ({ ms: _, ...request }, id, traceId) => void ended.push([request, id, traceId]),
    store: { counts: () => ({ bytes: 11, pages: 12, hits: 13, misses: 14 }) } as never,
    streams: streams as never,
    waits: { counts: () => ({ open: 15, refused: 16 }) } as never,
    unread: { counts: () => ({ bytes: 17, dropped: 18 }) } as never,
    refused,
    limit: countedLocally === null ? null : ({ countedLocally: () => countedLocally } as never),
  })
  app.get('/page/:id', async () => 'a')
  const shown = async () =>
    (await metrics.metrics())
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .toSorted()
  return { app, ended, shown, refused }
}

test('each metric has the number of its name', async () => {
  const { shown, refused } = await open(19)
  const lines = [
    'fx_http_refused_total{reason="load"} 6',
    'fx_http_refused_total{reason="rate"} 7',
    'fx_http_refused_total{reason="unread"} 8',
    'fx_pages 12',
    'fx_pages_bytes 11',
    'fx_pages_hits_total 13',
    'fx_pages_misses_total 14',
    'fx_rate_limit_alone_total 19',
    'fx_streams_dropped_total 31',
    'fx_streams_open 5',
    'fx_unread_bytes 17',
    'fx_unread_dropped_total 18',
    'fx_waits_open 15',
    'fx_waits_refused_total 16',
  ]
  expect(await shown()).toEqual(lines)
  refused.load = 9
  expect(await shown()).toContain('fx_http_refused_total{reason="load"} 9')
})

test('a process without a rate limit has counted no request on its own', async () => {
  const { shown } = await open(null)
  expect(await shown()).toContain('fx_rate_limit_alone_total 0')
})

test('each request is recorded with its id and the trace of its client', async () => {
  const { app, ended } = await open(null)
  const trace = '0af7651916cd43dd8448eb211c80319c'
  await app.inject({ url: '/page/7', headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` } })
  await app.inject('/page/8')
  const request = { method: 'GET', route: '/page/:id', status: 200, isStream: false }
  expect(ended).toEqual([
    [request, 'mine', trace],
    [request, 'mine', undefined],
  ])
})

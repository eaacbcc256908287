import { pino } from 'pino'
import { Gauge } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { createMetrics, show } from '../../src/lib/metrics.ts'
import { serveMetrics } from '../../src/lib/metrics-server.ts'
import { createReports } from '../../src/lib/reports.ts'

const log = pino({ level: 'silent' })
const host = '127.0.0.1'

const open: { close(): Promise<void> }[] = []
const serve = async (port: number | 'off', metrics = createMetrics()) => {
  const server = await serveMetrics({ metrics, host, port, log })
  open.push(server)
  return server
}
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

test('metrics are served as Prometheus reads them, and nothing else is', async () => {
  const metrics = createMetrics()
  new Gauge({ name: 'fx_seen', help: 'What was seen', registers: [metrics] }).set(7)
  const { port } = await serve(0, metrics)
  const answer = await fetch(`http://${host}:${port}/metrics`)
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const text = await answer.text()
  expect(text).toMatch(/^fx_seen 7$/m)
  expect(text).toMatch(/^fx_build_info\{version="\d+\.\d+\.\d+"\} 1$/m)
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m)
  for (const [path, method] of [['/', 'GET'] as const, ['/metrics', 'POST'] as const]) {
    expect((await fetch(`http://${host}:${port}${path}`, { method })).status).toBe(404)
  }
})

test('a port that is taken stops nobody, and `off` takes none', async () => {
  const { port } = await serve(0)
  if (port === null) throw new Error('the first one has a port')
  expect((await serve(port)).port).toBeNull()
  expect((await serve('off')).port).toBeNull()
})

test('what is shown is looked at once a scrape, and left out where nobody knows', async () => {
  const metrics = createMetrics()
  let looks = 0
  const rows = [
    { name: 'fx_level', help: 'A gauge', of: (seen: number) => [[{}, seen]] as const },
    { name: 'fx_steps_total', help: 'A counter', labels: ['of'], of: (seen: number) => [[{ of: 'a' }, seen]] as const },
    { name: 'fx_unknown', help: 'Nobody knows', of: () => [[{}, null]] as const },
  ]
  show(metrics, () => ++looks, rows)
  expect(looks).toBe(0)
  for (const scrape of [1, 2]) {
    const text = await metrics.metrics()
    expect(looks).toBe(scrape)
    expect(text).toContain(`# TYPE fx_level gauge\nfx_level ${scrape}\n`)
    expect(text).toContain(`# TYPE fx_steps_total counter\nfx_steps_total{of="a"} ${scrape}\n`)
    expect(text).not.toMatch(/^fx_unknown/m)
  }
})

test('a look that fails leaves out what it would have shown, and the rest is served', async () => {
  const metrics = createMetrics()
  show(metrics, () => Promise.reject(new Error('gone')), [{ name: 'fx_lost', help: 'Lost', of: () => [[{}, 1]] }])
  show(metrics, () => 1, [{ name: 'fx_kept', help: 'Kept', of: (it) => [[{}, it]] }])
  const text = await metrics.metrics()
  expect(text).toMatch(/^fx_kept 1$/m)
  expect(text).not.toMatch(/^fx_lost/m)
})

test('work is told of while somebody listens, whether it succeeds or not, and comes to the same', async () => {
  const reports = createReports<{ readonly of: string }, number>('fx-protection:test')
  const told: unknown[] = []
  expect(await reports.tell({ of: 'unheard' }, async () => 1)).toBe(1)
  const stop = reports.listen({
    begun: ({ of }) => told.push(`begun ${of}`),
    over: ({ of, result, error }) => told.push([of, result, error instanceof Error ? error.message : error]),
  })
  expect(await reports.tell({ of: 'good' }, async () => 2)).toBe(2)
  await expect(reports.tell({ of: 'bad' }, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  stop()
  await reports.tell({ of: 'unheard' }, async () => 3)
  expect(told).toEqual(['begun good', ['good', 2, undefined], 'begun bad', ['bad', undefined, 'no']])
})

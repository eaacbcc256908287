import { once } from 'node:events'
import { connect } from 'node:net'
import { pino } from 'pino'
import { Gauge } from 'prom-client'
import { afterEach, expect, test } from 'vitest'
import { serveMetrics } from '../../src/compose/metrics-server.ts'
import { createChannel } from '../../src/lib/observe/channel.ts'
import { createMetrics, show } from '../../src/lib/observe/metrics.ts'

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

test('GET /metrics returns the Prometheus text format, and every other request returns 404', async () => {
  const metrics = createMetrics()
  new Gauge({ name: 'fx_seen', help: 'A fixed value', registers: [metrics] }).set(7)
  const { port } = await serve(0, metrics)
  const answer = await fetch(`http://${host}:${port}/metrics`)
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const text = await answer.text()
  expect(text).toMatch(/^fx_seen 7$/m)
  expect(text).toMatch(/^fx_build_info\{version="\d+\.\d+\.\d+",commit=""\} 1$/m)
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m)
  for (const [path, method] of [['/', 'GET'] as const, ['/metrics', 'POST'] as const, ['/livez', 'POST'] as const]) {
    expect((await fetch(`http://${host}:${port}${path}`, { method })).status).toBe(404)
  }
})

test('GET /livez is answered while a metric waits for its source', async () => {
  const metrics = createMetrics()
  new Gauge({ name: 'fx_late', help: 'Waits', registers: [metrics], collect: () => new Promise(() => {}) })
  const { port } = await serve(0, metrics)
  const scrape = fetch(`http://${host}:${port}/metrics`).catch(() => 'not answered')
  expect((await fetch(`http://${host}:${port}/livez`)).status).toBe(200)
  await open.pop()?.close()
  expect(await scrape).toBe('not answered')
})

test('a taken port is not fatal, and `off` opens no port', async () => {
  const { port } = await serve(0)
  if (port === null) throw new Error('the first server has no port')
  expect((await serve(port)).port).toBeNull()
  expect((await serve('off')).port).toBeNull()
})

test('a failure to collect is answered with 500, and the server closes with connections that are open', async () => {
  const metrics = createMetrics()
  new Gauge({ name: 'fx_bad', help: 'Fails', registers: [metrics], collect: () => Promise.reject(new Error('no')) })
  const server = await serveMetrics({ metrics, host, port: 0, log })
  expect((await fetch(`http://${host}:${server.port}/metrics`)).status).toBe(500)
  const socket = connect(server.port ?? 0, host)
  await once(socket, 'connect')
  const ended = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
  socket.write('GET /metrics HTTP/1.1\r\n')
  await server.close()
  await ended
  const { port } = await serve(0)
  const without = await serveMetrics({ metrics: createMetrics(), host, port: port ?? 0, log })
  expect([without.port, await without.close()]).toEqual([null, undefined])
})

test('derived values are read once per scrape, and unknown ones are left out', async () => {
  const metrics = createMetrics()
  let reads = 0
  const rows = [
    { name: 'fx_level', help: 'A gauge', of: (seen: number) => [[{}, seen]] as const },
    { name: 'fx_steps_total', help: 'A counter', labels: ['of'], of: (seen: number) => [[{ of: 'a' }, seen]] as const },
    { name: 'fx_unknown', help: 'Unknown', of: () => [[{}, null]] as const },
  ]
  show(metrics, () => ++reads, rows)
  expect(reads).toBe(0)
  for (const scrape of [1, 2]) {
    const text = await metrics.metrics()
    expect(reads).toBe(scrape)
    expect(text).toContain(`# TYPE fx_level gauge\nfx_level ${scrape}\n`)
    expect(text).toContain(`# TYPE fx_steps_total counter\nfx_steps_total{of="a"} ${scrape}\n`)
    expect(text).not.toMatch(/^fx_unknown/m)
  }
})

test('a failed read leaves out its metrics, and the others are served', async () => {
  const metrics = createMetrics()
  show(metrics, () => Promise.reject(new Error('gone')), [{ name: 'fx_lost', help: 'Lost', of: () => [[{}, 1]] }])
  show(metrics, () => 1, [{ name: 'fx_kept', help: 'Kept', of: (it) => [[{}, it]] }])
  const text = await metrics.metrics()
  expect(text).toMatch(/^fx_kept 1$/m)
  expect(text).not.toMatch(/^fx_lost/m)
})

test('a channel publishes the operations that succeed or fail, and returns their outcomes', async () => {
  const channel = createChannel<{ readonly of: string }, number>('fx-protection:test')
  const published: unknown[] = []
  expect(await channel.trace({ of: 'unobserved' }, async () => 1)).toBe(1)
  const stop = channel.subscribe({
    onStart: ({ of }) => published.push(`started ${of}`),
    onEnd: ({ of, result, error }) => published.push([of, result, error instanceof Error ? error.message : error]),
  })
  expect(await channel.trace({ of: 'good' }, async () => 2)).toBe(2)
  await expect(channel.trace({ of: 'bad' }, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  stop()
  await channel.trace({ of: 'unobserved' }, async () => 3)
  expect(published).toEqual(['started good', ['good', 2, undefined], 'started bad', ['bad', undefined, 'no']])
})

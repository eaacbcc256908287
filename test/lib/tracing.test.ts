import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { trace } from '@opentelemetry/api'
import { expect, onTestFinished, test } from 'vitest'
import { createChannel } from '../../src/lib/observe/channel.ts'
import { createTracing } from '../../src/lib/observe/tracing.ts'

type Span = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly status: { readonly code?: number }
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
}

/** A collector, with the spans that it received and where, and tracing to it. */
const open = async (status = 200) => {
  const spans: Span[] = []
  const paths: unknown[] = []
  const services: unknown[] = []
  const collector = createServer(async (request, response) => {
    const { resourceSpans } = Object(await json(request))
    paths.push(request.url)
    for (const { resource, scopeSpans } of resourceSpans) {
      services.push(...resource.attributes.map((it: { readonly value: object }) => Object.values(it.value)[0]))
      for (const scope of scopeSpans) spans.push(...scope.spans)
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  onTestFinished(() => void collector.close())
  await once(collector.listen(0, '127.0.0.1'), 'listening')
  const { port } = Object(collector.address())
  const tracing = createTracing({ endpoint: `http://127.0.0.1:${port}/`, service: 'traced' })
  onTestFinished(() => tracing.close())
  return { tracing, spans, paths, services, byName: (name: string) => spans.find((it) => it.name === name) }
}

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parent = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
const attributesOf = (span: Span | undefined) =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]))

test('a request is a span of the trace of its client, with the spans of what runs on its behalf', async () => {
  const { tracing, byName, spans, paths, services } = await open()
  const channel = createChannel<{ readonly what: string }, number>('fx-protection:tracing-test')
  tracing.follow(channel, ({ what }) => ({ name: what, attributes: { what } }))
  const work = (what: string, fault?: Error) =>
    channel.trace({ what }, async () => (fault === undefined ? 1 : Promise.reject(fault))).catch(() => 0)
  await work('without a request')
  const request = tracing.begin('GET', parent)
  await new Promise<void>((resolve) => {
    request.run(() => {
      void Promise.all([work('works'), work('fails', new Error('a secret'))]).then(() => resolve())
    })
  })
  request.end({ route: '/page/:id', status: 499 })
  const other = tracing.begin('POST', {})
  other.end({ route: '/other', status: 500 })
  await tracing.close()

  expect([new Set(paths), new Set(services)]).toEqual([new Set(['/v1/traces']), new Set(['traced'])])
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['GET /page/:id', 'POST /other', 'fails', 'works'])
  const [own, works, fails] = ['GET /page/:id', 'works', 'fails'].map(byName)
  expect(own).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331', kind: 2, status: { code: 0 } })
  expect(attributesOf(own)).toEqual({
    ...{ 'http.request.method': 'GET', 'http.route': '/page/:id', 'http.response.status_code': 499 },
  })
  expect(works).toMatchObject({ traceId, parentSpanId: own?.spanId, kind: 3, status: { code: 0 } })
  expect(attributesOf(works)).toEqual({ what: 'works' })
  expect(fails).toMatchObject({ traceId, parentSpanId: own?.spanId, status: { code: 2 } })
  expect(byName('POST /other')).toMatchObject({ status: { code: 2 } })
  expect(byName('POST /other')?.traceId).not.toBe(traceId)
  expect(JSON.stringify(spans)).not.toContain('secret')
})

test('closed tracing follows nothing, and a process can trace again', async () => {
  const channel = createChannel<object, number>('fx-protection:tracing-test-again')
  let described = 0
  const describe = () => {
    described += 1
    return { name: 'again', attributes: {} }
  }
  for (const times of [1, 2]) {
    const { tracing, spans } = await open()
    tracing.follow(channel, describe)
    const request = tracing.begin('GET', {})
    await new Promise<void>((resolve) => {
      request.run(() => void channel.trace({}, async () => 1).then(() => resolve()))
    })
    request.end({ route: '/', status: 200 })
    trace.getTracer('a library').startSpan('of a library').end()
    await tracing.close()
    expect([times, described, spans.map(({ name }) => name).toSorted()]).toEqual([
      ...[times, times],
      ['GET /', 'again', 'of a library'],
    ])
    expect(trace.getActiveSpan()).toBeUndefined()
  }
})

test('a collector that refuses spans does not fail the shutdown', async () => {
  const { tracing, paths } = await open(400)
  tracing.begin('GET', {}).end({ route: '/', status: 200 })
  await expect(tracing.close()).resolves.toBeUndefined()
  expect(paths).toEqual(['/v1/traces'])
})

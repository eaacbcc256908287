import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { resourceOf } from '../../../src/reads/cache/resources.ts'
import { reachedAt } from '../../support/fake-changes.ts'
import { etagOf, MAX_AGE_MS, openCachedApp, POSITION, VERSION } from './cached-app.ts'

type App = Awaited<ReturnType<typeof openCachedApp>>

const own = etagOf(VERSION)

/** An app whose page is cached. */
const warmed = async (options: Parameters<typeof openCachedApp>[0] = {}) => {
  const opened = await openCachedApp(options)
  await opened.get()
  expect([opened.page.reads, opened.store.counts().pages]).toEqual([1, 1])
  return opened
}

test('a second request gets the cached body with the headers of the first one and its own request id', async () => {
  const { get, page } = await openCachedApp()
  const read = await get()
  const cached = await get({ 'x-request-id': 'mine' })
  expect([read.body, cached.body, cached.statusCode, page.reads]).toEqual(['read 1', 'read 1', 200, 1])
  expect(cached.headers).toMatchObject({
    ...{ etag: own, 'cache-control': 'public, no-cache', 'content-type': 'text/plain', 'x-transaction': 'none' },
    ...{ 'x-data-source': 'database', 'x-block-number': '50', 'x-index-lag': '0', 'content-length': '6' },
  })
  expect(cached.headers['x-request-id']).not.toBe(read.headers['x-request-id'])
  expect(cached.headers['server-timing']).toMatch(/^app;dur=\d+\.\d\d$/)
  expect(cached.headers).not.toHaveProperty('content-encoding')
  expect(cached.headers).not.toHaveProperty('ratelimit-limit')
})

test.each<[string, (app: App) => void]>([
  ['nothing happened', () => {}],
  [
    'another resource changed',
    ({ index }) => index.change(POSITION + 1, { chainIds: [8453], keys: ['8453 deposits'] }),
  ],
  ['another chain is behind', ({ index }) => index.outdated.add(1)],
  [
    'its time ends now',
    ({ clock }) => {
      clock.ms += MAX_AGE_MS
    },
  ],
])('the cached body is sent when %s', async (_, happen) => {
  const app = await warmed()
  happen(app)
  expect((await app.get()).body).toBe('read 1')
  expect(app.page.reads).toBe(1)
})

test.each<[string, (app: App) => void]>([
  ['the resource changed', ({ index, resource }) => index.change(POSITION + 1, resource)],
  ['everything of the chain changed', ({ index }) => index.change(POSITION + 1, resourceOf([8453]))],
  ['its chain is not current', ({ index }) => index.outdated.add(8453)],
  ['the feed is behind the tag, as after a restore', ({ index }) => index.change(VERSION - 1)],
  [
    'its time is over',
    ({ clock }) => {
      clock.ms += MAX_AGE_MS + 1
    },
  ],
])('the page is read again when %s', async (_, happen) => {
  const app = await warmed()
  happen(app)
  expect((await app.get()).body).toBe('read 2')
})

test('a change of one of two chains makes their common page invalid, and so does one chain that is not current', async () => {
  const chainIds = [8453, 1]
  for (const happen of [
    ({ index }: App) => index.change(POSITION + 1, resourceOf([1], 'events')),
    ({ index }: App) => index.outdated.add(1),
  ]) {
    const app = await warmed({ chainIds })
    expect((await app.get()).body).toBe('read 1')
    happen(app)
    expect((await app.get()).body).toBe('read 2')
  }
})

test('a page that was read again replaces the cached one', async () => {
  const { get, index, resource, page } = await warmed()
  index.change(POSITION + 1, resource)
  expect((await get()).headers.etag).toBe(etagOf(POSITION + 1))
  const cached = await get()
  expect([cached.body, cached.headers.etag, page.reads]).toEqual(['read 2', etagOf(POSITION + 1), 2])
})

test.each([
  ['an expectation', { expect: '100-continue' }],
  ['an upgrade', { upgrade: 'h2c', connection: 'upgrade' }],
  ['a length', { 'content-length': '0' }],
  ['a body in chunks', { 'transfer-encoding': 'chunked' }],
  ['a preference for a stream', { accept: 'text/event-stream' }],
  ['a preference for CSV', { accept: 'text/csv' }],
])('a request with %s is not answered from the cache', async (_, headers) => {
  const { cache } = await warmed()
  const decide = (own: object, method = 'GET') =>
    cache.decide({ req: { method, url: '/page', headers: own, socket: {} } } as never)
  expect(decide({})).toMatchObject({ etag: own, encoding: 'identity' })
  expect(decide(headers)).toBeNull()
})

test('only GET and HEAD are answered from the cache', async () => {
  const { cache, store } = await warmed()
  const { hits } = store.counts()
  const decide = (method: string) => cache.decide({ req: { method, url: '/page', headers: {}, socket: {} } } as never)
  expect(['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'].map((method) => decide(method) !== null)).toEqual([
    ...[true, true],
    ...[false, false, false],
  ])
  expect(store.counts().hits).toBe(hits + 2)
})

test('the body of a HEAD request is left out, with its length', async () => {
  const { app, page } = await warmed()
  const { headers, body } = await app.inject({ method: 'HEAD', url: '/page' })
  expect([headers['content-length'], body, page.reads]).toEqual(['6', '', 1])
})

test('variants of a URL share a cached page, and other queries have their own', async () => {
  const { get, page } = await warmed()
  expect((await get({}, '/page?_=1')).body).toBe('read 1')
  expect((await get({}, '/page?a=1')).body).toBe('read 2')
  expect(page.reads).toBe(2)
})

test('the freshness headers of a cached page follow the index', async () => {
  const { get, index } = await warmed()
  index.reach(reachedAt(8453, 60, { lagSeconds: 3 }))
  const { headers, body } = await get()
  expect([body, headers['x-block-number'], headers['x-index-lag']]).toEqual(['read 1', '60', '3'])
  expect(headers['x-block-hash']).toBe(reachedAt(8453, 60).block.hash)
  index.reach({ ...reachedAt(8453, 61), heartbeat: null })
  const later = (await get()).headers
  expect([later['x-block-number'], later['x-index-lag']]).toEqual(['61', '0'])
})

test('a cached page of several chains has the greatest lag and no block', async () => {
  const { get, index } = await warmed({ chainIds: [8453, 1] })
  index.reach(reachedAt(8453, 51, { lagSeconds: 2 }))
  index.reach(reachedAt(1, 51, { lagSeconds: 4 }))
  const { headers, body } = await get()
  expect([body, headers['x-index-lag'], headers['x-block-number']]).toEqual(['read 1', '4', undefined])
  index.reach(reachedAt(1, 52, { lagSeconds: 1 }))
  expect((await get()).headers['x-index-lag']).toBe('2')
})

test('what is not a success, has no tag, or is not a text is not cached', async () => {
  for (const set of [
    (page: App['page']) => {
      page.status = 202
    },
    (page: App['page']) => {
      page.freshness = { ...page.freshness, stale: true }
    },
    (page: App['page']) => {
      page.body = () => undefined
    },
  ]) {
    const { get, page, store } = await openCachedApp()
    set(page)
    await get()
    await get()
    expect([page.reads, store.counts().pages]).toEqual([2, 0])
  }
})

test('a body of bytes is cached like a text', async () => {
  const { get, page } = await openCachedApp()
  page.body = (reads) => Buffer.from(`bytes ${reads}`)
  await get()
  expect([(await get()).body, page.reads]).toEqual(['bytes 1', 1])
})

test('a request is looked up once', async () => {
  const { get, store } = await openCachedApp()
  await get()
  expect(store.counts()).toMatchObject({ hits: 0, misses: 1 })
  await get()
  expect(store.counts()).toMatchObject({ hits: 1, misses: 1 })
})

test('a client gets the best encoding that it accepts, also the first one, which has the body compressed', async () => {
  const { app, page } = await openCachedApp()
  const text = 'a'.repeat(2_000)
  page.body = () => text
  const ask = async (accept: string) => {
    const { headers, rawPayload } = await app.inject({ url: '/page', headers: { 'accept-encoding': accept } })
    return [headers['content-encoding'], rawPayload, headers['content-length'], page.reads] as const
  }
  const opened = { br: brotliDecompressSync, gzip: gunzipSync }
  for (const [accept, encoding, reads] of [
    ['gzip', 'gzip', 1],
    // The other client accepts what was made for the first one.
    ['gzip, br', 'gzip', 1],
    ['identity', undefined, 1],
    ['identity, gzip;q=0.5', undefined, 1],
    ['br', 'br', 2],
    ['gzip', 'gzip', 2],
    ['gzip, br', 'br', 2],
  ] as const) {
    const [used, body, length, done] = await ask(accept)
    expect([accept, used, length, done]).toEqual([accept, encoding, String(body.length), reads])
    expect((encoding === undefined ? body : opened[encoding](body)).toString()).toBe(text)
  }
})

test.each([
  [1_023, undefined],
  [1_024, 'gzip'],
])('a body of %i bytes is sent in the encoding %s', async (bytes, encoding) => {
  const { get, page } = await openCachedApp()
  page.body = () => 'a'.repeat(bytes)
  for (const _ of [1, 2]) expect((await get({ 'accept-encoding': 'gzip' })).headers['content-encoding']).toBe(encoding)
  expect(page.reads).toBe(1)
})

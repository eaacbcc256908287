import { expect, test } from 'vitest'
import { createTags } from '../../../src/api/response-cache/tags.ts'
import { blockAt, reachedAt } from '../../support/fake-changes.ts'
import { EDITION, etagOf, MAX_AGE_MS, openCachedApp, POSITION, VERSION } from './cached-app.ts'

type App = Awaited<ReturnType<typeof openCachedApp>>

const tags = createTags(EDITION)
const own = etagOf(VERSION)

/** The two ways of a 304: from the cached page, and from a page that is not cached, before it is read. */
const ways: readonly [string, () => Promise<App>][] = [
  [
    'a cached page',
    async () => {
      const app = await openCachedApp()
      await app.get()
      app.page.reads = 0
      return app
    },
  ],
  ['a page that is not cached', () => openCachedApp()],
]

test.each(
  ways.flatMap(([name, open]) =>
    [
      ['of its version', own],
      ['of a later version, before which it changed', etagOf(VERSION + 5)],
      ['of the newest change', etagOf(POSITION)],
      ['among others', `"a", ${own}`],
      ['after one of before', `${etagOf(VERSION - 1)}, ${own}`],
    ].map(([which, header]) => [name, which, header, open] as const),
  ),
)('%s is not sent again to a client with the tag %s', async (_, _which, header = '', open) => {
  const { get, page } = await open()
  const { statusCode, headers, body } = await get({ 'if-none-match': header, 'x-request-id': 'mine' })
  expect([statusCode, body, page.reads]).toEqual([304, '', 0])
  expect(headers).toMatchObject({
    ...{ etag: header.split(', ').at(-1), 'cache-control': 'public, no-cache', 'x-transaction': 'none' },
    ...{ 'x-data-source': 'database', 'x-block-number': '50', 'x-index-lag': '0' },
  })
  expect(headers['server-timing']).toMatch(/^app;dur=/)
  for (const name of ['content-type', 'content-length']) expect(headers).not.toHaveProperty(name)
})

test.each(
  ways.flatMap(([name, open]) =>
    [
      ['of a version before its last change', etagOf(VERSION - 1)],
      ['of a change that this process does not know', etagOf(POSITION + 1)],
      ['of any version', '*'],
      ['of another release', createTags('other').encode({ version: VERSION, block: null })],
      ['of a block that is not confirmed', tags.encode({ version: VERSION, block: { number: 51, hashPrefix: 'ab' } })],
    ].map(([which, header]) => [name, which, header, open] as const),
  ),
)('%s is sent to a client with the tag %s', async (_, _which, header = '', open) => {
  const { get } = await open()
  const { statusCode, headers, body } = await get({ 'if-none-match': header })
  expect([statusCode, headers.etag]).toEqual([200, own])
  expect(body).toMatch(/^read 1$/)
})

test.each(ways)('%s is sent to every client while its chain is not current', async (_, open) => {
  const { get, index } = await open()
  index.outdated.add(8453)
  const { statusCode, headers } = await get({ 'if-none-match': own })
  // The process may not know the newest change, so the response has no tag either.
  expect([statusCode, headers.etag]).toEqual([200, undefined])
})

test('a client with a valid tag gets a 304 after the time of the cached body too', async () => {
  const { get, page, clock } = await openCachedApp()
  await get()
  clock.ms += MAX_AGE_MS + 1
  expect((await get({ 'if-none-match': own })).statusCode).toBe(304)
  expect(page.reads).toBe(1)
})

test('a change during a read makes the tag of the response invalid', async () => {
  const { get, page, index, resource } = await openCachedApp()
  page.read = () => index.change(POSITION + 1, resource)
  expect((await get()).headers.etag).toBe(own)
  page.read = () => {}
  expect((await get({ 'if-none-match': own })).statusCode).toBe(200)
  expect(page.reads).toBe(2)
})

test('a page of the chain has a tag with its block, and its body is not cached', async () => {
  const { get, page, known } = await openCachedApp()
  page.freshness = { source: 'chain', stale: false, block: blockAt(50) }
  const { headers } = await get()
  expect(known.added).toEqual([[8453, blockAt(50)]])
  const hashPrefix = blockAt(50).hash.slice(2, 18)
  expect(headers.etag).toBe(tags.encode({ version: VERSION, block: { number: 50, hashPrefix } }))
  known.confirmed.add(50)
  expect((await get()).body).toBe('read 2')
  expect((await get({ 'if-none-match': String(headers.etag) })).statusCode).toBe(304)
  expect(page.reads).toBe(2)
})

test('a node is asked about the block of a returned tag, of one tag for a header, and not for other tags', async () => {
  const { get, page, known } = await openCachedApp()
  page.freshness = { source: 'chain', stale: false, block: blockAt(50) }
  const tagOf = (number: number, version = VERSION) =>
    tags.encode({ version, block: { number, hashPrefix: blockAt(number).hash.slice(2, 18) } })
  known.confirmable.add(50)
  for (const header of ['*', own, tagOf(50, VERSION - 1)]) await get({ 'if-none-match': header })
  expect(known.asked).toEqual([])
  expect((await get({ 'if-none-match': ['*', tagOf(51), tagOf(50)].join(', ') })).statusCode).toBe(200)
  expect(known.asked).toEqual([51])
  for (const _ of ['confirmed by a node', 'known as confirmed']) {
    const { statusCode, headers } = await get({ 'if-none-match': tagOf(50) })
    expect([statusCode, headers.etag, known.asked]).toEqual([304, tagOf(50), [51, 50]])
  }
})

test.each<[string, (app: App) => void]>([
  [
    'of a block before the indexed one',
    ({ page }) => {
      page.freshness = { ...page.freshness, block: blockAt(49) }
    },
  ],
  [
    'without a block',
    ({ page }) => {
      page.freshness = { source: 'chain', stale: false }
    },
  ],
  [
    'that is static',
    ({ page }) => {
      page.freshness = { source: 'static', stale: false }
    },
  ],
  [
    'that is stale',
    ({ page }) => {
      page.freshness = { ...page.freshness, stale: true }
    },
  ],
  [
    'from an index that polls for changes',
    ({ page, index }) => {
      page.read = () => index.reach(reachedAt(8453, 50, { byLogs: false }))
    },
  ],
  [
    'of a chain without a heartbeat',
    ({ page, index }) => {
      page.read = () => index.reach({ ...reachedAt(8453, 50), heartbeat: null })
    },
  ],
])('a page of the chain has no tag when it is one %s', async (_, change) => {
  const app = await openCachedApp()
  app.page.freshness = { source: 'chain', stale: false, block: blockAt(50) }
  change(app)
  expect((await app.get()).headers).not.toHaveProperty('etag')
  expect([app.known.added, app.store.counts().pages]).toEqual([[], 0])
})

test('a page of several chains that was read from one has no tag', async () => {
  const { get, page } = await openCachedApp({ chainIds: [8453, 1] })
  page.freshness = { source: 'chain', stale: false, block: blockAt(50) }
  expect((await get()).headers).not.toHaveProperty('etag')
})

test('a page of the chain may be one of a block that the index reached during the read', async () => {
  const { get, page, index } = await openCachedApp()
  page.freshness = { source: 'chain', stale: false, block: blockAt(50) }
  page.read = () => index.reach(reachedAt(8453, 51))
  expect((await get()).headers.etag).toBeDefined()
})

test('a stale page of the index has no tag', async () => {
  const { get, page } = await openCachedApp()
  page.freshness = { ...page.freshness, stale: true }
  expect((await get()).headers).not.toHaveProperty('etag')
})

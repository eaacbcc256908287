import { expect, test } from 'vitest'
import type { RateLimit } from '../../../src/api/limits/rate-limit.ts'
import type { Unread } from '../../../src/api/unread.ts'
import { etagOf, openCachedApp, VERSION } from './cached-app.ts'

/** A limit that counts by address, and leaves the rest of `max`. */
const createLimit = (max = 5) => {
  const charged: string[] = []
  const limit: RateLimit = {
    take(client) {
      if (charged.length >= max) return null
      charged.push(client)
      return { max, remaining: max - charged.length, reset: 60 }
    },
    count: async () => ({ max, remaining: max, reset: 60, isExceeded: false }),
    countedLocally: () => 0,
  }
  return { limit, charged }
}

const open = async (max?: number, options: Parameters<typeof openCachedApp>[0] = {}) => {
  const { limit, charged } = createLimit(max)
  const opened = await openCachedApp({ limit, ...options })
  await opened.get()
  const ask = (headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    opened.app.inject({ url: '/page', method, headers, remoteAddress: '192.0.2.1' })
  return { ...opened, charged, ask }
}

test('a cached body counts for the address of its client, and its headers report the rest', async () => {
  const { ask, charged } = await open()
  const { headers } = await ask()
  expect(charged).toEqual(['192.0.2.1'])
  expect(headers).toMatchObject({ 'ratelimit-limit': '5', 'ratelimit-remaining': '4', 'ratelimit-reset': '60' })
})

test('a cached body counts for the address that the trusted proxies report', async () => {
  const { ask, charged } = await open(5, { trustedProxies: 1 })
  await ask({ 'x-forwarded-for': '203.0.113.7, 198.51.100.2' })
  expect(charged).toEqual(['198.51.100.2'])
})

test('without proxies, the address that a client reports is not believed', async () => {
  const { ask, charged } = await open()
  await ask({ 'x-forwarded-for': '198.51.100.2' })
  expect(charged).toEqual(['192.0.2.1'])
})

test.each([
  ['a 304', { 'if-none-match': etagOf(VERSION) }, 0],
  ['a request that accepts no cached encoding', { 'accept-encoding': 'identity;q=0' }, 1],
  ['a request for a stream', { accept: 'text/event-stream' }, 1],
])('%s is not counted by the cache', async (_, headers, reads) => {
  const { ask, charged, page } = await open()
  await ask(headers)
  expect([charged, page.reads]).toEqual([[], 1 + reads])
})

test('an expired and a changed body are not counted by the cache', async () => {
  const { ask, charged, clock, index, resource, page } = await open()
  clock.ms += 10_000
  await ask()
  index.change(200, resource)
  await ask()
  expect([charged, page.reads]).toEqual([[], 3])
})

test('a client without a remaining request is left to the framework', async () => {
  const { ask, page } = await open(1)
  expect((await ask()).body).toBe('read 1')
  expect((await ask()).body).toBe('read 2')
  expect(page.reads).toBe(2)
})

/** Bodies from which on clients are counted until they have read them. */
const LARGE_FROM = 65_536

test.each([
  ['a large body', LARGE_FROM, 'GET', true, ['192.0.2.1']],
  ['a smaller body', LARGE_FROM - 1, 'GET', true, []],
  ['the head of a large body', LARGE_FROM, 'HEAD', true, []],
  ['a large body without room', LARGE_FROM, 'GET', false, ['192.0.2.1']],
] as const)('%s counts as unread for the address that reads it', async (_, bytes, method, hasRoom, addresses) => {
  const added: string[] = []
  const unread: Unread = {
    add(_response, size, address) {
      expect(size).toBe(bytes)
      added.push(address)
      return hasRoom
    },
    counts: () => ({ bytes: 0, dropped: 0 }),
  }
  const { cache, page, get } = await openCachedApp({ unread })
  page.body = () => 'a'.repeat(bytes)
  await get()
  const socket = { remoteAddress: '192.0.2.1' }
  const decided = cache.decide({ req: { method, url: '/page', headers: {}, socket } } as never)
  if (hasRoom) expect(decided).toMatchObject({ encoding: 'identity', etag: etagOf(VERSION) })
  else expect(decided).toBeNull()
  expect(added).toEqual(addresses)
})

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Entry } from '../../../src/api/response-cache/entry.ts'
import { createStore } from '../../../src/api/response-cache/store.ts'

const url = '/v1/hedge/events'
const MAX_BYTES = 2 ** 20
/** Memory of an entry in addition to its bodies and its key of 16 characters. */
const OVERHEAD = 2_048 + 2 * url.length
const entryOf = (bytes: number): Entry => ({
  ...{ resource: { chainIds: [], keys: [] }, tag: { version: 1, block: null }, etag: 'W/"1"' },
  ...{ route: url, headers: [], until: Number.POSITIVE_INFINITY, lists: null },
  bodies: { identity: Buffer.from(randomBytes(bytes / 2).toString('hex')) },
})

test('an entry with the body of the one before keeps its encodings, all of which count, and any other replaces it', () => {
  const store = createStore(MAX_BYTES)
  const identity = Buffer.from('a'.repeat(2_000))
  const [gzip, br] = [Buffer.alloc(20), Buffer.alloc(30)]
  store.set(url, { ...entryOf(0), bodies: { identity, gzip } })
  store.set(url, { ...entryOf(0), etag: 'W/"2"', bodies: { identity: Buffer.from(identity), br } })
  expect(store.get(url)).toMatchObject({ etag: 'W/"2"', bodies: { identity, gzip, br } })
  expect(store.counts().bytes).toBe(OVERHEAD + 2_050)
  store.set(url, { ...entryOf(0), bodies: null })
  expect(store.get(url)?.bodies).toBeNull()
  store.set(url, { ...entryOf(0), bodies: { identity, gzip } })
  const other = Buffer.from('b'.repeat(2_000))
  store.set(url, { ...entryOf(0), bodies: { identity: other } })
  expect(store.get(url)?.bodies).toEqual({ identity: other })
})

test('a response cache of 0 bytes keeps nothing, and one with room keeps what it is given', () => {
  for (const [bytes, kept] of [
    [0, 0],
    [MAX_BYTES, 1],
  ] as const) {
    const store = createStore(bytes)
    store.set(url, entryOf(16))
    expect(store.counts().pages).toBe(kept)
  }
})

test('an entry takes at most a sixteenth of the cache', () => {
  const store = createStore(16 * 100_000)
  store.set(url, entryOf(100_000 - OVERHEAD))
  expect(store.counts()).toMatchObject({ pages: 1, bytes: 100_000 })
  store.set(url, entryOf(100_000 - OVERHEAD + 2))
  expect(store.counts().pages).toBe(0)
})

test('the least recently used entry makes room for a new one', () => {
  const store = createStore(16 * 100_000)
  const urls = Array.from({ length: 16 }, (_, nth) => `/v1/hedge/events/${nth + 10}`)
  for (const each of urls) store.set(each, entryOf(95_000))
  store.get(String(urls[0]))
  store.set('/v1/hedge/events/99', entryOf(95_000))
  expect(urls.filter((each) => store.get(each) === undefined)).toEqual([urls[1]])
})

test('a URL without a key is neither kept nor found, and each look-up counts as a hit or as a miss', () => {
  const store = createStore(MAX_BYTES)
  store.set('/v1/%61', entryOf(16))
  expect(store.counts()).toEqual({ bytes: 0, pages: 0, hits: 0, misses: 0 })
  expect(store.get('/v1/%61')).toBeUndefined()
  store.set(url, entryOf(16))
  store.get(`${url}/?_=1`)
  store.get(url)
  store.get('/v1/other')
  expect(store.counts()).toMatchObject({ pages: 1, hits: 2, misses: 2 })
})

import { randomBytes } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Entry } from '../../../src/api/response-cache/entry.ts'
import { createStore } from '../../../src/api/response-cache/store.ts'
import { eventually } from '../../support/process.ts'

const url = '/v1/hedge/events'
const MAX_BYTES = 2 ** 20
/** Memory of an entry in addition to its bodies and its key of 16 characters. */
const OVERHEAD = 2_048 + 2 * url.length
/** Random digits: compressed they take half the bytes. */
const entryOf = (bytes: number): Entry => ({
  ...{ resource: { chainIds: [], keys: [] }, tag: { version: 1, block: null }, etag: 'W/"1"' },
  ...{ route: url, headers: [], until: Number.POSITIVE_INFINITY, hits: 0, lists: null },
  bodies: { identity: Buffer.from(randomBytes(bytes / 2).toString('hex')) },
})

/** What a store holds after a body was sent twice, which has it compressed. */
const sentTwice = async (bytes: number) => {
  const store = createStore(MAX_BYTES)
  const entry = entryOf(bytes)
  store.set(url, entry)
  for (const _ of [1, 2]) store.sent(url, entry)
  return { store, entry }
}

const isCompressed = (entry: Entry | undefined): boolean => entry?.bodies?.br !== undefined

test('a body that fits with its compressed ones is kept with them, and all of them count', async () => {
  const { store, entry } = await sentTwice(16_384)
  expect(store.counts().bytes).toBe(OVERHEAD + 16_384)
  await eventually('it is compressed', () => isCompressed(store.get(url)))
  const { identity, gzip, br } = store.get(url)?.bodies ?? entry.bodies ?? {}
  expect(identity).toEqual(entry.bodies?.identity)
  expect(gunzipSync(gzip ?? '')).toEqual(identity)
  expect(brotliDecompressSync(br ?? '')).toEqual(identity)
  expect(store.counts().bytes).toBe(OVERHEAD + 16_384 + Number(gzip?.length) + Number(br?.length))
  expect(store.counts().pages).toBe(1)
})

test('a body that would not fit with its compressed ones is kept as it is', async () => {
  const { store, entry } = await sentTwice(61_440)
  // Those of another URL are made after it.
  const other = entryOf(16_384)
  store.set('/other', other)
  await eventually('another body is compressed', () => {
    store.sent('/other', other)
    return isCompressed(store.get('/other'))
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(store.get(url)).toBe(entry)
})

test('a body is compressed at its second hit, and not at its first', async () => {
  const store = createStore(MAX_BYTES)
  const [once, twice] = [entryOf(16_384), entryOf(16_384)]
  store.set('/once', once)
  store.set('/twice', twice)
  store.sent('/once', once)
  store.sent('/twice', twice)
  store.sent('/twice', twice)
  await eventually('one is compressed', () => isCompressed(store.get('/twice')))
  expect(store.get('/once')).toBe(once)
  expect([once.hits, twice.hits]).toEqual([1, 2])
})

test('a body is compressed once, however often it is sent meanwhile, so another one can be compressed too', async () => {
  const store = createStore(MAX_BYTES)
  const [often, other] = [entryOf(16_384), entryOf(16_384)]
  store.set('/often', often)
  store.set('/other', other)
  for (const _ of [1, 2, 3, 4]) store.sent('/often', often)
  for (const _ of [1, 2]) store.sent('/other', other)
  await eventually('both are compressed', () => ['/often', '/other'].every((each) => isCompressed(store.get(each))))
})

test('a body that was not compressed because too many were is compressed at a later hit', async () => {
  const store = createStore(MAX_BYTES)
  const urls = ['/a', '/b', '/c']
  const entries = urls.map(() => entryOf(16_384))
  const send = (each: string, at: number) => entries[at] !== undefined && store.sent(each, entries[at])
  for (const [at, each] of urls.entries()) if (entries[at] !== undefined) store.set(each, entries[at])
  for (const _ of [1, 2]) for (const [at, each] of urls.entries()) send(each, at)
  await eventually('two are compressed', () => isCompressed(store.get('/a')) && isCompressed(store.get('/b')))
  expect(store.get('/c')).toBe(entries[2])
  send('/c', 2)
  await eventually('the third one is compressed', () => isCompressed(store.get('/c')))
})

test('a compressed body is not compressed again', async () => {
  const { store } = await sentTwice(16_384)
  await eventually('it is compressed', () => isCompressed(store.get(url)))
  const compressed = store.get(url)
  const other = entryOf(16_384)
  store.set('/other', other)
  for (const _ of [1, 2]) {
    if (compressed !== undefined) store.sent(url, compressed)
    store.sent('/other', other)
  }
  await eventually('a body that was sent later is compressed', () => isCompressed(store.get('/other')))
  expect(store.get(url)).toBe(compressed)
})

test('an entry that was replaced while its body was compressed stays replaced', async () => {
  const { store } = await sentTwice(16_384)
  const newer = entryOf(16_384)
  store.set(url, newer)
  const other = entryOf(16_384)
  store.set('/other', other)
  for (const _ of [1, 2]) store.sent('/other', other)
  await eventually('a body that was sent later is compressed', () => isCompressed(store.get('/other')))
  expect(store.get(url)).toBe(newer)
})

test('an entry without a body, and one with a small body, are not compressed', async () => {
  const store = createStore(MAX_BYTES)
  const [tagOnly, small] = [{ ...entryOf(0), bodies: null }, entryOf(1_022)]
  store.set('/tag', tagOnly)
  store.set('/small', small)
  for (const _ of [1, 2, 3]) {
    store.sent('/tag', tagOnly)
    store.sent('/small', small)
  }
  const smallest = entryOf(1_024)
  store.set('/smallest', smallest)
  await eventually('the smallest body that is compressed is compressed', () => {
    store.sent('/smallest', smallest)
    return isCompressed(store.get('/smallest'))
  })
  expect([store.get('/tag'), store.get('/small')]).toEqual([tagOnly, small])
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

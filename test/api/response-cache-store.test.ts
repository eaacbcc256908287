import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Entry } from '../../src/api/response-cache/entry.ts'
import { createStore } from '../../src/api/response-cache/store.ts'
import { eventually } from '../support/process.ts'

const url = '/v1/hedge/events'
const MAX_BYTES = 2 ** 20
/** Random digits: compressed they take half the bytes. */
const entryOf = (bytes: number): Entry => ({
  ...{ resource: { chainIds: [], version: () => 0 } as never, tag: { version: 1, block: null }, etag: 'W/"1"' },
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

test('a body that fits with its compressed ones is kept with them', async () => {
  const { store } = await sentTwice(16_384)
  await eventually('it is compressed', () => store.get(url)?.bodies?.br !== undefined)
})

test('a body that would not fit with its compressed ones is kept as it is', async () => {
  const { store, entry } = await sentTwice(61_440)
  // Those of another URL are made after it.
  const other = entryOf(16_384)
  store.set('/other', other)
  await eventually('another body is compressed', () => {
    store.sent('/other', other)
    return store.get('/other')?.bodies?.br !== undefined
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(store.get(url)).toBe(entry)
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

import { expect, test } from 'vitest'
import type { Entry } from '../../src/api/response-cache/entry.ts'
import { createStore } from '../../src/api/response-cache/store.ts'

const entry: Entry = {
  resource: { chainIds: [8453], keys: ['8453 *'] },
  tag: { version: 1, pin: null },
  etag: 'W/"1"',
  route: '/v1/hedge/events',
  headers: [],
  bodies: { identity: '{}', bytes: 2 },
  until: Number.POSITIVE_INFINITY,
  hits: 0,
  lists: null,
}

test('a response cache of 0 bytes keeps nothing, and one with room keeps what it is given', () => {
  for (const [bytes, kept] of [
    [0, 0],
    [1_048_576, 1],
  ] as const) {
    const store = createStore(bytes)
    store.set('/v1/hedge/events', entry)
    expect(store.tally().pages).toBe(kept)
    expect(store.get('/v1/hedge/events')).toBe(kept === 0 ? undefined : entry)
  }
})

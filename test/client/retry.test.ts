import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Etags } from '../../client/src/etags.ts'
import { joinHeaders } from '../../client/src/headers.ts'
import { delayOf, isTemporary, parseRetryAfter, sleep } from '../../client/src/retry.ts'
import { urlOf } from '../../client/src/url.ts'
import { useFastClock } from '../support/fast-clock.ts'

/* The parts of a request of the client: pauses, tags, headers and URLs. */

beforeAll(useFastClock)
// A timer that a test left behind does not count in the next one.
beforeEach(() => void vi.clearAllTimers())
afterAll(() => void vi.useRealTimers())

describe('the pause before the next attempt', () => {
  test.each([
    [1, 500],
    [2, 1_000],
    [3, 2_000],
    [4, 4_000],
    [5, 8_000],
    [6, 8_000],
    [1_000, 8_000],
  ])('after %i failures is half to all of %i ms, and what the service asks for', (failures, ms) => {
    for (const [random, share] of [
      [0, 0.5],
      [0.5, 0.75],
      [1, 1],
    ] as const) {
      vi.spyOn(Math, 'random').mockReturnValue(random)
      expect([delayOf(failures), delayOf(failures, 3_000)]).toEqual([share * ms, share * ms + 3_000])
    }
    vi.restoreAllMocks()
  })

  test('is read from seconds or a date, and is never negative', () => {
    expect([null, '', 'soon'].map(parseRetryAfter)).toEqual([undefined, undefined, undefined])
    expect(['0', '7', '3600'].map(parseRetryAfter)).toEqual([0, 7_000, 3_600_000])
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toUTCString()
    expect([parseRetryAfter(inSeconds(60)), parseRetryAfter(inSeconds(-60))]).toEqual([60_000, 0])
  })

  test.each([
    ...[408, 429, 503, 504].map((status) => [status, true, true] as const),
    [502, true, false],
    [502, false, true],
    ...[400, 401, 404, 409, 500, 501, 505].map((status) => [status, false, false] as const),
  ] as const)('comes after the status %i (with a body of the API: %s): %s', (status, hasBody, isRepeated) => {
    expect(isTemporary(status, hasBody)).toBe(isRepeated)
    if (status !== 502) expect(isTemporary(status, !hasBody)).toBe(isRepeated)
  })
})

describe('a pause', () => {
  const listeners = (signal: AbortSignal) => ({
    added: vi.spyOn(signal, 'addEventListener'),
    removed: vi.spyOn(signal, 'removeEventListener'),
  })

  test('lasts its time and leaves no listener', async () => {
    const { signal } = new AbortController()
    const { added, removed } = listeners(signal)
    const began = Date.now()
    await sleep(1_234, signal)
    expect(Date.now() - began).toBe(1_234)
    expect(removed.mock.calls).toEqual(added.mock.calls)
    expect(added).toHaveBeenCalledOnce()
  })

  test('ends with its signal, and leaves no timer and no listener', async () => {
    const stop = new AbortController()
    const { added, removed } = listeners(stop.signal)
    const pause = sleep(1_234, stop.signal)
    stop.abort(new Error('stopped'))
    await expect(pause).rejects.toThrow('stopped')
    expect(vi.getTimerCount()).toBe(0)
    expect(removed.mock.calls).toEqual(added.mock.calls)
    await expect(sleep(1_234, stop.signal)).rejects.toThrow('stopped')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that no timer can wait is the longest one, and not the shortest', async () => {
    const began = Date.now()
    await sleep(1e12)
    expect(Date.now() - began).toBe(2_147_483_647)
  })
})

describe('the tags of responses', () => {
  test('are kept for the newest 500 URLs', () => {
    const etags = new Etags()
    for (let at = 0; at < 500; at += 1) etags.set(`/${at}`, `"${at}"`, at)
    expect([etags.get('/0'), etags.get('/499')]).toEqual([
      { tag: '"0"', body: 0 },
      { tag: '"499"', body: 499 },
    ])
    // A response that is stored again is the newest one.
    etags.set('/0', '"new"', 'new')
    etags.set('/500', '"500"', 500)
    expect(etags.get('/0')).toEqual({ tag: '"new"', body: 'new' })
    expect([etags.get('/1'), etags.get('/2')?.body]).toEqual([undefined, 2])
  })

  test('are dropped with a response that has none', () => {
    const etags = new Etags()
    etags.set('/', '"1"', 1)
    etags.set('/', null, 2)
    expect(etags.get('/')).toBeUndefined()
  })
})

test('headers of one name are joined in any letter case, and the last one with a value wins', () => {
  const joined = joinHeaders({ Accept: '1', other: 'x' }, undefined, new Headers({ ACCEPT: '2' }), {
    accept: undefined,
  })
  expect([...joined]).toEqual([
    ['accept', '2'],
    ['other', 'x'],
  ])
})

test('a URL has its parameters in the path or in the query, encoded, and without those that are undefined', () => {
  const path = '/v1/a/{id}/{other}'
  expect(urlOf('http://api/', path, { id: 'x/y', other: 0, list: ['a', 'b c'], none: undefined, zero: 0 })).toBe(
    'http://api/v1/a/x%2Fy/0?list=a,b%20c&zero=0',
  )
  const given = { id: 1, other: 2 }
  expect(urlOf('http://api', path, given)).toBe('http://api/v1/a/1/2')
  expect(given).toEqual({ id: 1, other: 2 })
  expect(urlOf('http://api//', '/v1/a')).toBe('http://api/v1/a')
  expect(() => urlOf('http://api', path, { id: 1 })).toThrow('requires the parameter other')
})

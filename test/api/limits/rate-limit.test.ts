import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { allowanceHeaders, createRateLimit, type LimitStore, rateLimited } from '../../../src/api/limits/rate-limit.ts'

const a = '192.0.2.1'
const b = '192.0.2.2'

/** A limit that this process counts on its own, with a clock that a test sets. */
const openLocal = (max: number, maxClients?: number) => {
  const clock = { ms: 1_000_000 }
  const limit = createRateLimit(max, undefined, { now: () => clock.ms, ...(maxClients && { maxClients }) })
  return { limit, clock }
}

test('the error of a request above the limit names the limit, and has a wait of a second or more', () => {
  const retryAfter = (reset: number) => rateLimited({ max: 5, remaining: 0, reset }).retryAfter
  expect([retryAfter(0), retryAfter(7)]).toEqual([1, 7])
  expect(rateLimited({ max: 5, remaining: 0, reset: 7 })).toMatchObject({
    ...{ code: 'rate_limited', message: 'rate limit exceeded: at most 5 requests a minute' },
  })
})

test('the headers of an allowance are the limit, the rest and the seconds until the count restarts', () => {
  expect(allowanceHeaders({ max: 5, remaining: 3, reset: 7 })).toEqual({
    ...{ 'ratelimit-limit': 5, 'ratelimit-remaining': 3, 'ratelimit-reset': 7 },
  })
})

test('requests are taken until none remains, and a refused one counts nothing', async () => {
  const { limit } = openLocal(3)
  const taken = Array.from({ length: 5 }, () => limit.take(a))
  expect(taken.map((it) => it?.remaining)).toEqual([2, 1, 0, undefined, undefined])
  expect(taken[0]).toEqual({ max: 3, remaining: 2, reset: 60 })
  expect(taken[3]).toBeNull()
  expect((await limit.count(a, 'read')).isExceeded).toBe(false)
  expect(limit.take(b)?.remaining).toBe(2)
  expect(limit.countedLocally()).toBe(0)
})

test('a counted request above the limit is exceeded, and the rest is never negative', async () => {
  const { limit } = openLocal(2)
  const counts = [await limit.count(a, 'incr'), await limit.count(a, 'incr'), await limit.count(a, 'incr')]
  expect(counts.map(({ remaining, isExceeded }) => [remaining, isExceeded])).toEqual([
    [1, false],
    [0, false],
    [0, true],
  ])
  expect(await limit.count(a, 'read')).toEqual({ max: 2, remaining: 0, reset: 60, isExceeded: true })
})

test('a count restarts a minute after its first request', async () => {
  const { limit, clock } = openLocal(2)
  limit.take(a)
  clock.ms += 30_001
  expect(limit.take(a)).toEqual({ max: 2, remaining: 0, reset: 30 })
  clock.ms += 29_998
  expect([limit.take(a), (await limit.count(a, 'read')).reset]).toEqual([null, 1])
  clock.ms += 1
  expect(limit.take(a)).toEqual({ max: 2, remaining: 1, reset: 60 })
})

test('a request that is only read counts nothing and starts no minute', async () => {
  const { limit, clock } = openLocal(2)
  for (let times = 0; times < 5; times += 1)
    expect(await limit.count(a, 'read')).toEqual({ max: 2, remaining: 2, reset: 0, isExceeded: false })
  clock.ms += 59_000
  limit.take(a)
  clock.ms += 2_000
  expect(limit.take(a)).toEqual({ max: 2, remaining: 0, reset: 58 })
})

test('of more clients than are remembered, the least recently seen one is forgotten', () => {
  const { limit } = openLocal(2, 2)
  limit.take(a)
  limit.take(b)
  limit.take(a)
  expect(limit.take('192.0.2.3')?.remaining).toBe(1)
  expect(limit.take(a)).toBeNull()
  expect(limit.take(b)?.remaining).toBe(1)
})

type Reply = (fault: Error | null, result?: readonly [number, number]) => void

/** A limit over a Redis whose counts a test sets, and what was requested of it. */
const openShared = (max: number) => {
  const clock = { ms: 1_000_000 }
  const counts = new Map<string, number>()
  const state = { ttl: 40_000, fault: null as Error | null, isDown: false, isHeld: false }
  const calls: string[] = []
  const log: string[] = []
  const held: (() => void)[] = []
  const answer = (key: string, step: number, reply: Reply): void => {
    const send = (): void => {
      if (state.fault !== null) {
        reply(state.fault)
        return
      }
      const count = (counts.get(key) ?? 0) + step
      counts.set(key, count)
      reply(null, [count, state.ttl])
    }
    if (state.isHeld) held.push(send)
    else send()
  }
  const redis = {
    rateLimit(key: string, windowMs: number, most: number, _continue: boolean, _backoff: boolean, reply: Reply) {
      calls.push(`incr ${key} ${windowMs} ${most}`)
      answer(key, 1, reply)
    },
    rateLimitRead(key: string, reply: Reply) {
      calls.push(`read ${key}`)
      answer(key, 0, reply)
    },
  }
  const outages = {
    failed: (fault: Error) => void log.push(fault.message),
    worked: () => void log.push('worked'),
    isDown: () => state.isDown,
  }
  const store = { redis, prefix: 'p', outages } as unknown as LimitStore
  const limit = createRateLimit(max, store, { now: () => clock.ms })
  const release = async () => {
    state.isHeld = false
    for (const send of held.splice(0)) send()
    await turn()
  }
  return { limit, clock, counts, state, calls, log, release }
}

test('processes share the count of a client', async () => {
  const { limit, counts, calls, log } = openShared(3)
  counts.set(`p:requests:${a}`, 1)
  expect(await limit.count(a, 'incr')).toEqual({ max: 3, remaining: 1, reset: 40, isExceeded: false })
  expect(await limit.count(a, 'read')).toEqual({ max: 3, remaining: 1, reset: 40, isExceeded: false })
  expect(calls).toEqual([`incr p:requests:${a} 60000 3`, `read p:requests:${a}`])
  // A Redis that rejects writes answers reads, so a read shows no recovery.
  expect([log, limit.countedLocally()]).toEqual([['worked'], 0])
})

test('a request is taken by the last known count, and counted with the others in the background', async () => {
  const { limit, counts, calls } = openShared(10)
  counts.set(`p:requests:${a}`, 6)
  // This process does not know yet what others have counted.
  expect(limit.take(a)).toEqual({ max: 10, remaining: 9, reset: 60 })
  await turn()
  expect(counts.get(`p:requests:${a}`)).toBe(7)
  expect(limit.take(a)).toEqual({ max: 10, remaining: 2, reset: 40 })
  await turn()
  expect([limit.take(a)?.remaining, calls.length]).toEqual([1, 3])
})

test('requests that the shared store has not counted yet count', async () => {
  const { limit, state, calls, release } = openShared(3)
  state.isHeld = true
  expect(Array.from({ length: 5 }, () => limit.take(a)?.remaining)).toEqual([2, 1, 0, undefined, undefined])
  expect(calls).toHaveLength(3)
  await release()
  expect(limit.take(a)).toBeNull()
  expect(calls).toHaveLength(3)
})

test('the last known count restarts when its time is over', async () => {
  const { limit, clock, counts } = openShared(3)
  counts.set(`p:requests:${a}`, 2)
  await limit.count(a, 'incr')
  expect(limit.take(a)).toBeNull()
  clock.ms += 39_999
  expect(limit.take(a)).toBeNull()
  clock.ms += 1
  expect(limit.take(a)).toMatchObject({ remaining: 2, reset: 60 })
})

test('while the shared store fails, this process counts on its own', async () => {
  const { limit, state, log } = openShared(2)
  state.fault = new Error('connection refused')
  expect((await limit.count(a, 'incr')).remaining).toBe(1)
  expect((await limit.count(a, 'read')).remaining).toBe(1)
  expect((await limit.count(a, 'incr')).remaining).toBe(0)
  expect((await limit.count(a, 'incr')).isExceeded).toBe(true)
  // Only counted requests are reported.
  expect([limit.countedLocally(), log]).toEqual([3, Array.from({ length: 4 }, () => 'connection refused')])
})

test('in an outage, a request is taken and read without the shared store, which still gets what is counted', async () => {
  const { limit, state, calls, counts } = openShared(2)
  counts.set(`p:requests:${a}`, 2)
  state.isDown = true
  expect([limit.take(a)?.remaining, limit.take(a)?.remaining, limit.take(a)]).toEqual([1, 0, null])
  expect((await limit.count(a, 'read')).remaining).toBe(0)
  expect(calls).toEqual([])
  await limit.count(b, 'incr')
  expect(calls).toEqual([`incr p:requests:${b} 60000 2`])
})

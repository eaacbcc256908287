import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Answer } from '../support/fake-endpoint.ts'
import { ok } from '../support/open-endpoint.ts'
import { down, openProbed, openRegistry, type Pool, START, silent, up, upAfter } from '../support/open-registry.ts'

/* The ranks of endpoints, and what keeps their state up to date. */

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START }))
afterEach(() => void vi.useRealTimers())

describe('the rank', () => {
  const lag = (pool: Pool) => {
    vi.setSystemTime(START + 1)
    pool.endpoint(1).learn({ is: 'head', number: 99n, timestamp: 99n })
    pool.endpoint(0).learn({ is: 'head', number: 8n, timestamp: 8n })
  }
  test('decides the order, and equal ones keep that of the configuration', async () => {
    const pool = await openProbed(up, up, up, up)
    pool.penalize(0, 'it contradicts http://a.example/key')
    pool.reportMissingLogs(1, 'the log of event 3')
    expect(pool.reports()).toEqual([
      { is: 'contradiction', why: 'it contradicts <node>', endpoint: 0 },
      { is: 'missing logs', why: 'the log of event 3', endpoint: 1 },
    ])
    expect((await pool.ranked([])).map(({ endpoint, rank }) => [endpoint.index, rank])).toEqual([
      [2, 'ok'],
      [3, 'ok'],
      [1, 'incomplete logs'],
      [0, 'penalized'],
    ])
    pool.penalize(9, 'there is none')
    pool.reportMissingLogs(9, 'there is none')
    expect(pool.reports()).toEqual([])
  })
  test('of one that lags is below that of others', async () => {
    const pool = await openProbed(up, up)
    lag(pool)
    expect(await pool.indexes()).toEqual([1, 0])
  })
  test('may be that all lag, as after a chain went back, and then each is used', async () => {
    const pool = await openProbed(up, up)
    const headOf = (at: number, time: bigint) => pool.endpoint(at).learn({ is: 'head', number: time, timestamp: time })
    headOf(1, 99n)
    vi.setSystemTime(START + 2_000)
    headOf(0, 40n)
    headOf(1, 20n)
    expect((await pool.ranked([])).map(({ rank }) => rank)).toEqual(['lagging', 'lagging'])
  })
  test('of one with incomplete logs is above that of one that lags', async () => {
    const pool = await openProbed(up, up)
    lag(pool)
    pool.reportMissingLogs(1, 'the log of event 3')
    expect(await pool.indexes()).toEqual([1, 0])
  })
})

describe('a clock that was set back', () => {
  const pausedAt = async (back: number) => {
    const pool = await openProbed(up, up)
    pool.penalize(0, 'it contradicts others')
    for (const endpoint of pool.endpoints)
      endpoint.learn({ is: 'fault', fault: { kind: 'rate', retryAfterMs: 60_000 }, text: 'slow down', needed: [] })
    expect(await pool.indexes()).toEqual([])
    vi.setSystemTime(START - back)
    return pool.indexes(pool.within(2_000, pool.ranked([])).then((found) => (found === 'pending' ? [] : found)))
  }
  test('by an hour ends pauses and penalties', async () => {
    expect(await pausedAt(3_600_000)).toEqual([0, 1])
    expect(await pausedAt(1_001)).toEqual([0, 1])
  })
  test('by a second at most leaves them', async () => {
    expect(await pausedAt(1_000)).toEqual([])
  })
})

describe('a refresh', () => {
  test.each([
    [1_500, []],
    [1_501, [0]],
  ])('probes those whose height is older than a second and a half, also the only one: %i ms', async (ms, asked) => {
    const pool = await openProbed(up)
    vi.setSystemTime(START + ms)
    await pool.refresh()
    expect(pool.asked()).toEqual(asked)
  })
  test('leaves out those whose height was read meanwhile', async () => {
    const pool = await openProbed(up, up)
    vi.setSystemTime(START + 1_000)
    pool.endpoint(1).learn({ is: 'head', number: 8n, timestamp: 8n })
    vi.setSystemTime(START + 2_000)
    await pool.refresh()
    expect(pool.asked()).toEqual([0])
  })
  test('waits a second at most', async () => {
    const pool = openRegistry(silent, up)
    const done = pool.refresh().then(() => 'done')
    expect(await pool.within(999, done)).toBe('pending')
    expect(await pool.within(1, done)).toBe('done')
    const quick = openRegistry(upAfter(300), up)
    expect(
      await quick.within(
        300,
        quick.refresh().then(() => 'done'),
      ),
    ).toBe('done')
  })
  test('does not disturb one that is paused', async () => {
    const pool = await openProbed(up, up)
    pool.endpoint(0).learn({ is: 'chain', right: false })
    vi.setSystemTime(START + 4_999)
    await pool.refresh()
    expect(pool.asked()).toEqual([1])
    vi.setSystemTime(START + 5_000)
    await pool.refresh()
    expect(pool.asked()).toEqual([0])
  })
})

describe('a check that an endpoint is alive', () => {
  test('is one at a time for each, and reports silence since it began', async () => {
    const pool = await openProbed(up, up)
    let fail = (_: Error): void => {}
    pool.replies[0] = () =>
      new Promise((_, reject) => {
        fail = reject
      })
    for (const at of [0, 0, 1]) pool.checkLiveness(pool.endpoint(at), 200)
    const sent = pool.sent()
    expect(sent.map(({ endpoint, requests }) => [endpoint, requests.map(({ method }) => method)])).toEqual([
      [0, ['eth_chainId', 'eth_getBlockByNumber']],
      [1, ['eth_chainId', 'eth_getBlockByNumber']],
    ])
    expect(sent[0]?.options.signal).toBeInstanceOf(AbortSignal)
    vi.setSystemTime(START + 200)
    fail(down)
    await vi.advanceTimersByTimeAsync(0)
    expect(pool.reports()).toEqual([{ is: 'silent', since: START, endpoint: 0 }])
    expect(await pool.indexes()).toEqual([1])
    pool.checkLiveness(pool.endpoint(0), 200)
    expect(pool.asked()).toEqual([0])
  })
  test('logs an error of the program', async () => {
    const pool = await openProbed(() => [ok(8453), ok(null)])
    pool.replies[0] = () => {
      throw new Error('a mistake')
    }
    pool.checkLiveness(pool.endpoint(0), 200)
    await vi.advanceTimersByTimeAsync(0)
    expect([pool.reports(), pool.lines]).toMatchObject([[], [{ msg: 'probe of a node failed', node: 0 }]])
  })
})

test('the log width and the status are those of the endpoints now', async () => {
  const pool = await openProbed(up, up)
  pool.endpoint(1).learn({ is: 'range', asked: 100n, upTo: 0n, fault: { kind: 'range', usable: 40n } })
  expect(pool.logWidth()).toBe(40n)
  expect(pool.status()).toMatchObject({ hasLogs: true, endpoints: [{ width: 100n, rank: 'ok' }, { width: 40n }] })
  vi.setSystemTime(START + 20_001)
  expect(pool.status().endpoints).toMatchObject([{ rank: 'stale' }, { rank: 'stale' }])
})

test('at the end probes are given up, and each endpoint is closed once they have ended', async () => {
  const leaving: Answer = ({ options }) =>
    new Promise((_, reject) => {
      options.signal?.addEventListener('abort', () => setTimeout(reject, 50, down))
    })
  const pool = openRegistry(leaving, up, up)
  void pool.ranked([])
  const signals = pool.sent().map(({ options }) => options.signal)
  await vi.advanceTimersByTimeAsync(0)
  const done = pool.close().then(() => 'closed')
  // Those of the others had ended.
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false, false])
  expect([await pool.within(49, done), pool.closed]).toEqual(['pending', []])
  expect([await pool.within(1, done), pool.closed]).toEqual(['closed', [0, 1, 2]])
})

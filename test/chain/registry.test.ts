import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { type Answer, createFakeEndpoints } from '../support/fake-endpoint.ts'

/* Which endpoints are probed, which a caller waits for, and which it gets, with endpoints and a clock of the test. */

const START = 1_800_000_000_000
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START }))
afterEach(() => void vi.useRealTimers())

const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value })
const failed = (message: string): Outcome<unknown> => ({ ok: false, error: new NodeError({ code: -32_000, message }) })
const late = <T>(ms: number, value: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, ms, value))
const down = new NodeUnreachable('down', { kind: 'unanswered' })

const up: Answer = () => [ok(8453), ok(null)]
const silent: Answer = ({ options }) =>
  new Promise((_, reject) => options.signal?.addEventListener('abort', () => reject(down)))
const broken: Answer = () => {
  throw down
}
const upAfter =
  (ms: number): Answer =>
  () =>
    late(ms, [ok(8453), ok(null)])

const open = (...answers: readonly Answer[]) => {
  const replies = [...answers]
  const fakes = createFakeEndpoints(answers.map((_, at) => (sent) => (replies[at] ?? up)(sent)))
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const urls = answers.map((_, at) => `http://${at}.example/key`)
  const registry = createEndpointRegistry({ chainId: 8453, urls, timeoutMs: 3_000, log, open: fakes.open })
  const indexes = async (found = registry.ranked([])) => (await found).map(({ endpoint }) => endpoint.index)
  return {
    ...{ ...registry, ...fakes, lines, replies, indexes },
    endpoint: (at: number) => fakes.endpoints[at] ?? expect.unreachable(),
    /** What `work` results in, or `pending` if it has not ended after so many milliseconds. */
    async within<T>(ms: number, work: Promise<T>): Promise<T | 'pending'> {
      let result: T | 'pending' = 'pending'
      void work.then((value) => {
        result = value
      })
      await vi.advanceTimersByTimeAsync(ms)
      return result
    },
  }
}
type Pool = ReturnType<typeof open>

/** A pool whose endpoints have answered their first probe. */
const openProbed = async (...answers: readonly Answer[]): Promise<Pool> => {
  const pool = open(...answers)
  await pool.within(2_000, pool.ranked([]))
  vi.setSystemTime(START)
  for (const endpoint of pool.endpoints) endpoint.learn({ is: 'head', number: 7n, timestamp: 7n })
  await pool.within(0, pool.ranked([]))
  pool.reports()
  pool.sent()
  return pool
}

describe('the first probe', () => {
  test('of each endpoint precedes its use, and asks for its chain and its newest block', async () => {
    const pool = open(up, up)
    expect([pool.asked(), await pool.indexes(), pool.reports()]).toEqual([
      [],
      [0, 1],
      [0, 1].map((endpoint) => ({ is: 'chain', right: true, endpoint })),
    ])
    const methods = pool
      .sent()
      .map(({ requests, options }) => [
        requests.map(({ method, params }) => [method, params[0]]),
        options.timeoutMs,
        options.signal?.aborted,
      ])
    const probe = [
      ['eth_chainId', undefined],
      ['eth_getBlockByNumber', 'latest'],
    ]
    expect(methods).toEqual([
      [probe, 1_000, false],
      [probe, 1_000, false],
    ])
    expect(pool.opened).toMatchObject(
      ['http://0.example/key', 'http://1.example/key'].map((url, index) => ({
        ...{ url, index, chainId: 8453, timeoutMs: 3_000, logWidth: 100n },
      })),
    )
    await pool.ranked([])
    expect(pool.asked()).toEqual([])
  })

  test('of another chain keeps an endpoint out', async () => {
    const pool = open(() => [ok(1), ok(null)], up)
    expect(await pool.indexes()).toEqual([1])
    expect(pool.reports()).toContainEqual({ is: 'chain', right: false, endpoint: 0 })
  })

  test('without a chain is a fault, unless the node has no time for it', async () => {
    const pool = open(
      ...['no such thing', 'rate limit', 'timed out'].map(
        (text): Answer =>
          () => [failed(text), ok(null)],
      ),
    )
    expect(await pool.indexes()).toEqual([])
    const text = 'no valid chain id'
    expect(pool.reports()).toEqual([{ is: 'fault', fault: { kind: 'garbage' }, text, needed: [], endpoint: 0 }])
  })

  test('that fails by an error of the program is logged', async () => {
    const pool = open(up, () => {
      throw new Error('a mistake')
    })
    await pool.within(
      300,
      pool.ranked([]).catch(() => null),
    )
    expect(pool.lines).toMatchObject([{ msg: 'probe of a node failed', level: 50, chainId: 8453, node: 1 }])
    expect(pool.lines[0]?.fault).toContain('a mistake')
  })

  test('is shared by those who wait for it', async () => {
    const pool = open(upAfter(100), upAfter(200))
    const found = Promise.all([pool.indexes(), pool.indexes()])
    expect(await pool.within(200, found)).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(pool.asked()).toEqual([0, 1])
  })
})

describe('a caller of a pool that is not known', () => {
  test('waits a quarter of a second for the others once one is usable', async () => {
    const pool = open(silent, upAfter(100))
    const found = pool.indexes()
    expect(await pool.within(349, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([1])
  })
  test('gets those that answer in that time, and does not wait for its end', async () => {
    const pool = open(upAfter(200), up)
    const found = pool.indexes()
    expect(await pool.within(199, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([0, 1])
  })
  test('waits for all while none is usable', async () => {
    const pool = open(broken, upAfter(900), () => [ok(1), ok(null)])
    const found = pool.indexes()
    expect(await pool.within(899, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([1])
  })
  test('waits for one that was never probed, although another one is usable', async () => {
    const pool = open(up, upAfter(100))
    pool.endpoint(0).learn({ is: 'chain', right: true })
    const found = pool.indexes()
    expect(await pool.within(99, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([0, 1])
  })
  test('gets none when none answers', async () => {
    const pool = open(broken, broken)
    expect(await pool.indexes()).toEqual([])
  })
})

describe('an endpoint that is known', () => {
  test.each([
    [1_500, []],
    [1_501, [0, 1]],
  ])('is probed in the background when its height is older than a second and a half: %i ms', async (ms, asked) => {
    const pool = await openProbed(up, up)
    vi.setSystemTime(START + ms)
    expect([await pool.indexes(), pool.asked()]).toEqual([[0, 1], asked])
  })
  test('is not probed when its height was read meanwhile', async () => {
    const pool = await openProbed(up, up)
    vi.setSystemTime(START + 1_000)
    pool.endpoint(1).learn({ is: 'head', number: 8n, timestamp: 8n })
    vi.setSystemTime(START + 2_500)
    expect([await pool.indexes(), pool.asked()]).toEqual([[0, 1], [0]])
  })
  test('is not probed again before that', async () => {
    const pool = await openProbed(up, up)
    const askedAt = async (ms: number): Promise<number[]> => {
      vi.setSystemTime(START + ms)
      await pool.ranked([])
      return pool.asked()
    }
    expect([await askedAt(5_000), await askedAt(6_500), await askedAt(6_501)]).toEqual([[0, 1], [], [0, 1]])
  })
  test('needs no further probe if it is the only one', async () => {
    const pool = await openProbed(up)
    vi.setSystemTime(START + 60_000)
    expect([await pool.indexes(), pool.asked()]).toEqual([[0], []])
  })
  test('does not keep its caller waiting', async () => {
    const pool = await openProbed(up, up)
    vi.setSystemTime(START + 5_000)
    pool.replies.fill(silent)
    expect([await pool.within(0, pool.indexes()), pool.asked()]).toEqual([
      [0, 1],
      [0, 1],
    ])
    // The probes under way are those of the next caller.
    await pool.ranked([])
    expect(pool.asked()).toEqual([])
  })
  test('is left out while it misses what is needed', async () => {
    const pool = await openProbed(up, up)
    const fault = { kind: 'capability', missing: 'logs' } as const
    pool.endpoint(0).learn({ is: 'fault', fault, text: 'no', needed: ['logs'] })
    expect([await pool.indexes(pool.ranked(['logs'])), await pool.indexes(pool.ranked(['pinned', 'tags']))]).toEqual([
      ...[[1], [0, 1]],
    ])
    expect(await pool.indexes(pool.ranked(['tags', 'logs']))).toEqual([1])
  })
})

describe('an endpoint that is paused', () => {
  const pause = async (pool: Pool) => {
    const { learn, state } = pool.endpoint(0)
    // A pause of whole milliseconds.
    vi.spyOn(Math, 'random').mockReturnValue(1)
    for (let times = 0; times < 2; times += 1)
      learn({ is: 'fault', fault: { kind: 'unanswered' }, text: 'down', needed: [] })
    vi.restoreAllMocks()
    return state().pausedUntil
  }
  test('is not asked before its end, and then without a caller that waits for it', async () => {
    const pool = await openProbed(up, up)
    const until = await pause(pool)
    vi.setSystemTime(until - 1)
    expect([await pool.indexes(), pool.asked()]).toEqual([[1], []])
    vi.setSystemTime(until)
    pool.replies[0] = upAfter(50)
    expect([await pool.within(0, pool.indexes()), pool.asked()]).toEqual([[1], [0]])
    await vi.advanceTimersByTimeAsync(50)
    expect(await pool.indexes()).toEqual([0, 1])
  })
  test('is not waited for either if it is the only one', async () => {
    const pool = await openProbed(up)
    vi.setSystemTime(await pause(pool))
    pool.replies[0] = silent
    expect([await pool.within(0, pool.indexes()), pool.asked()]).toEqual([[], [0]])
  })
  test('is not waited for if it never answered, while another one is usable', async () => {
    const pool = await openProbed(up, broken)
    pool.replies[1] = silent
    expect([await pool.within(0, pool.indexes()), pool.asked()]).toEqual([[0], [1]])
  })
  test('is waited for if it has not failed, and none is usable', async () => {
    const pool = await openProbed(broken)
    pool.replies[0] = upAfter(50)
    const found = pool.indexes()
    expect(await pool.within(49, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([0])
  })
})

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
    expect((await pool.rankedUpToDate([])).map(({ index }) => index)).toEqual([2, 3, 1, 0])
    pool.penalize(9, 'there is none')
    pool.reportMissingLogs(9, 'there is none')
    expect(pool.reports()).toEqual([])
  })
  test('of one that lags keeps it out of what has to be up to date, unless no other is current', async () => {
    const pool = await openProbed(up, up)
    lag(pool)
    expect(await pool.indexes()).toEqual([1, 0])
    expect((await pool.rankedUpToDate([])).map(({ index }) => index)).toEqual([1])
  })
  test('may be that all lag, as after a chain went back, and then each is used', async () => {
    const pool = await openProbed(up, up)
    const headOf = (at: number, time: bigint) => pool.endpoint(at).learn({ is: 'head', number: time, timestamp: time })
    headOf(1, 99n)
    vi.setSystemTime(START + 2_000)
    headOf(0, 40n)
    headOf(1, 20n)
    expect((await pool.ranked([])).map(({ rank }) => rank)).toEqual(['lagging', 'lagging'])
    expect((await pool.rankedUpToDate([])).map(({ index }) => index)).toEqual([0, 1])
  })
  test('of one with incomplete logs is current', async () => {
    const pool = await openProbed(up, up)
    lag(pool)
    pool.reportMissingLogs(1, 'the log of event 3')
    expect((await pool.rankedUpToDate([])).map(({ index }) => index)).toEqual([1])
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
    const pool = open(silent, up)
    const done = pool.refresh().then(() => 'done')
    expect(await pool.within(999, done)).toBe('pending')
    expect(await pool.within(1, done)).toBe('done')
    const quick = open(upAfter(300), up)
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
  pool.endpoint(1).learn({ is: 'range', asked: 100n, fault: { kind: 'range', usable: 40n } })
  expect(pool.logWidth()).toBe(40n)
  expect(pool.status()).toMatchObject({ hasLogs: true, endpoints: [{ width: 100n, rank: 'ok' }, { width: 40n }] })
  vi.setSystemTime(START + 10_001)
  expect(pool.status().endpoints).toMatchObject([{ rank: 'stale' }, { rank: 'stale' }])
})

test('at the end probes are given up, and each endpoint is closed once they have ended', async () => {
  const leaving: Answer = ({ options }) =>
    new Promise((_, reject) => {
      options.signal?.addEventListener('abort', () => setTimeout(reject, 50, down))
    })
  const pool = open(leaving, up, up)
  void pool.ranked([])
  const signals = pool.sent().map(({ options }) => options.signal)
  await vi.advanceTimersByTimeAsync(0)
  const done = pool.close().then(() => 'closed')
  // Those of the others had ended.
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false, false])
  expect([await pool.within(49, done), pool.closed]).toEqual(['pending', []])
  expect([await pool.within(1, done), pool.closed]).toEqual(['closed', [0, 1, 2]])
})

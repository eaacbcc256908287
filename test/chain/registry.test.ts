import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Answer } from '../support/fake-endpoint.ts'
import { failed, ok } from '../support/open-endpoint.ts'
import { broken, openProbed, openRegistry, type Pool, START, silent, up, upAfter } from '../support/open-registry.ts'

/* Which endpoints are probed, which a caller waits for, and which it gets. */

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START }))
afterEach(() => void vi.useRealTimers())

describe('the first probe', () => {
  test('of each endpoint precedes its use, and asks for its chain and its newest block', async () => {
    const pool = openRegistry(up, up)
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
    const pool = openRegistry(() => [ok(1), ok(null)], up)
    expect(await pool.indexes()).toEqual([1])
    expect(pool.reports()).toContainEqual({ is: 'chain', right: false, endpoint: 0 })
  })

  test('without a chain is a fault, unless the node has no time for it', async () => {
    const pool = openRegistry(
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
    const pool = openRegistry(up, () => {
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
    const pool = openRegistry(upAfter(100), upAfter(200))
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
    const pool = openRegistry(silent, upAfter(100))
    const found = pool.indexes()
    expect(await pool.within(349, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([1])
  })
  test('gets those that answer in that time, and does not wait for its end', async () => {
    const pool = openRegistry(upAfter(200), up)
    const found = pool.indexes()
    expect(await pool.within(199, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([0, 1])
  })
  test('waits for all while none is usable', async () => {
    const pool = openRegistry(broken, upAfter(900), () => [ok(1), ok(null)])
    const found = pool.indexes()
    expect(await pool.within(899, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([1])
  })
  test('waits for one that was never probed, although another one is usable', async () => {
    const pool = openRegistry(up, upAfter(100))
    pool.endpoint(0).learn({ is: 'chain', right: true })
    const found = pool.indexes()
    expect(await pool.within(99, found)).toBe('pending')
    expect(await pool.within(1, found)).toEqual([0, 1])
  })
  test('gets none when none answers', async () => {
    const pool = openRegistry(broken, broken)
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

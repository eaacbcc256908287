import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { unavailable } from '../../src/lib/errors.ts'
import { afterRefresh, awaitIndex } from '../../src/reads/freshness/consistency.ts'
import type { Polls } from '../../src/reads/freshness/waits.ts'
import { fakeChain } from '../support/fake-chain.ts'
import { fakeClient, openWaits } from '../support/fake-waits.ts'

/* The places of waits, which every wait frees however it ends. */

const [ADDRESS, OTHER] = ['192.0.2.1', '192.0.2.2']
const PER_CLIENT = 3

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

type Opened = ReturnType<typeof openWaits>

const open = (limits: Parameters<typeof openWaits>[1] = {}) => openWaits([fakeChain().chain], limits)

/** A wait that holds its place until the test ends it. */
const hold = ({ waits }: Opened, address = ADDRESS) => {
  const { client, leave } = fakeClient(address)
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let isOpen = false
  const done = waits.during(8453, client, async () => {
    isOpen = true
    await ended
  })
  done.catch(() => {})
  return { done, end, leave, isOpen: () => isOpen }
}

/** How many more waits a client may open. */
const freeOf = async (opened: Opened, address: string): Promise<number> => {
  const held = [hold(opened, address)]
  while (held.at(-1)?.isOpen()) held.push(hold(opened, address))
  const refused = held.pop()
  await expect(refused?.done).rejects.toMatchObject({ code: 'rate_limited' })
  for (const { end } of held) end()
  await Promise.all(held.map(({ done }) => done))
  return held.length
}

const never = (polls: Polls, signal: AbortSignal) =>
  polls.tips.until({
    ...{ deadline: performance.now() + 1_000, signal },
    check: () => undefined,
    late: () => unavailable('late'),
  })

type End = readonly [how: string, code: string | null, run: (opened: Opened) => Promise<unknown>]

const ends: readonly End[] = [
  ['succeeds', null, ({ waits }) => waits.during(8453, fakeClient(ADDRESS).client, async () => 7)],
  [
    'reaches its deadline',
    'service_unavailable',
    async ({ waits }) => {
      const late = waits.during(8453, fakeClient(ADDRESS).client, never)
      late.catch(() => {})
      await vi.advanceTimersByTimeAsync(1_100)
      return late
    },
  ],
  [
    'loses its client',
    'service_unavailable',
    async ({ waits }) => {
      const { client, leave } = fakeClient(ADDRESS)
      const left = waits.during(8453, client, never)
      leave()
      return left
    },
  ],
  [
    'begins after its client has left',
    'service_unavailable',
    async ({ waits }) => {
      const { client, leave } = fakeClient(ADDRESS)
      leave()
      return waits.during(8453, client, never)
    },
  ],
  [
    'fails because the database is out of reach',
    'service_unavailable',
    async ({ waits, queue }) => {
      queue.read = async () => {
        throw unavailable('the database is out of reach')
      }
      return afterRefresh(waits, fakeClient(ADDRESS).client, async () => ({ refreshing: [8453] as const }))
    },
  ],
  [
    'fails at once with an error that is not expected',
    'fault',
    async ({ waits }) =>
      waits.during(8453, fakeClient(ADDRESS).client, () => {
        throw Object.assign(new TypeError('not expected'), { code: 'fault' })
      }),
  ],
  [
    'is for a chain that is not configured',
    'service_unavailable',
    async ({ waits }) => waits.during(56, fakeClient(ADDRESS).client, async () => 7),
  ],
  [
    'is refused because its client has too many',
    'rate_limited',
    async (opened) => {
      const held = Array.from({ length: PER_CLIENT }, () => hold(opened))
      const refused = opened.waits.during(8453, fakeClient(ADDRESS).client, never)
      await expect(refused).rejects.toMatchObject({ retryAfter: 1 })
      for (const { end } of held) end()
      await Promise.all(held.map(({ done }) => done))
      return refused
    },
  ],
  [
    'is refused because all clients together have too many',
    'service_unavailable',
    async (opened) => {
      const held = Array.from({ length: 6 }, (_, at) => hold(opened, `198.51.100.${at}`))
      const refused = opened.waits.during(8453, fakeClient(ADDRESS).client, never)
      await expect(refused).rejects.toThrow('limit of 7 waiting requests reached')
      for (const { end } of held) end()
      await Promise.all(held.map(({ done }) => done))
      return refused
    },
  ],
]

describe.each(ends)('a wait that %s', (_, code, run) => {
  test('frees its place, also of its client, while another client waits', async () => {
    const opened = open({ max: 7, maxPerClient: PER_CLIENT })
    const other = hold(opened, OTHER)
    for (let times = 0; times <= PER_CLIENT; times += 1) {
      if (code === null) await run(opened)
      else await expect(run(opened)).rejects.toMatchObject({ code })
    }
    expect(opened.waits.counts().open).toBe(1)
    expect([await freeOf(opened, ADDRESS), await freeOf(opened, OTHER)]).toEqual([PER_CLIENT, PER_CLIENT - 1])
    other.end()
    await other.done
    expect(opened.waits.counts().open).toBe(0)
    expect(await freeOf(opened, OTHER)).toBe(PER_CLIENT)
  })
})

test('a process that stops ends every wait, frees its place, and ends later waits at once', async () => {
  const opened = open({ maxPerClient: PER_CLIENT })
  const { waits, draining } = opened
  const waiting = [ADDRESS, ADDRESS, OTHER].map((address) => waits.during(8453, fakeClient(address).client, never))
  expect(waits.counts().open).toBe(3)
  draining.abort()
  for (const wait of waiting) await expect(wait).rejects.toThrow('this process is about to stop')
  expect(waits.counts().open).toBe(0)
  const later = waits.during(8453, fakeClient(ADDRESS).client, never)
  await expect(later).rejects.toThrow('this process is about to stop')
  expect([await freeOf(opened, ADDRESS), await freeOf(opened, OTHER)]).toEqual([PER_CLIENT, PER_CLIENT])
})

test('the end of one of several waits of a client frees one place', async () => {
  const opened = open({ maxPerClient: PER_CLIENT })
  const [first, second] = [hold(opened), hold(opened)]
  expect(await freeOf(opened, ADDRESS)).toBe(1)
  first.end()
  await first.done
  expect(await freeOf(opened, ADDRESS)).toBe(2)
  second.end()
  await second.done
  expect(await freeOf(opened, ADDRESS)).toBe(3)
})

test('the limit of all clients takes precedence over that of one, and both count as refused', async () => {
  const opened = open({ max: 2, maxPerClient: 2 })
  const held = [hold(opened), hold(opened)]
  await expect(hold(opened).done).rejects.toMatchObject({ code: 'service_unavailable', retryAfter: 1 })
  expect(opened.waits.counts()).toEqual({ open: 2, refused: 1 })
  held[0]?.end()
  await held[0]?.done
  hold(opened, OTHER)
  await expect(hold(opened, OTHER).done).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(opened.waits.counts()).toEqual({ open: 2, refused: 2 })
})

test('a wait of a client leaves no listener on the connection, which other requests use', async () => {
  const { waits } = open()
  const { client, leave } = fakeClient()
  for (let times = 0; times < 20; times += 1) await waits.during(8453, client, async () => {})
  expect(getEventListeners(client.disconnected, 'abort')).toHaveLength(0)
  const left = waits.during(8453, client, never)
  leave()
  await expect(left).rejects.toThrow('the client disconnected')
})

test('a commit wakes the waits for the index and for the refresh queue, until the waits are closed', async () => {
  const opened = open()
  const { waits, commit, queue, listeners } = opened
  let isRefreshed = false
  let reads = 0
  queue.read = async () => {
    reads += 1
    return { oldestBlock: isRefreshed ? null : 1n, newestChange: 0 }
  }
  commit(8453, 6n)
  const waiting = awaitIndex(waits, fakeClient().client, [8453], { minBlock: 7, waitMs: 5_000 }, { observed: true })
  await vi.advanceTimersByTimeAsync(20)
  expect(reads).toBe(0)
  commit(8453, 7n)
  // Less than a pause between two polls.
  await vi.advanceTimersByTimeAsync(15)
  expect(reads).toBe(1)
  isRefreshed = true
  commit(8453, 7n)
  await vi.advanceTimersByTimeAsync(15)
  expect(reads).toBe(2)
  expect(await waiting).toEqual({ block: 7n, isReverted: false })
  waits.close()
  expect(listeners.size).toBe(0)
})

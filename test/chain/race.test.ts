import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Endpoint } from '../../src/chain/endpoints/endpoint.ts'
import { createLatency } from '../../src/chain/endpoints/latency.ts'
import type { Rank } from '../../src/chain/endpoints/ranking.ts'
import { type EndpointReport, type EndpointState, initialState, learn } from '../../src/chain/endpoints/state.ts'
import { createNode } from '../../src/chain/pool/failover.ts'
import type { EndpointRegistry } from '../../src/chain/pool/registry.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import { getBlock, getChainId } from '../../src/chain/rpc/requests.ts'
import type { Outcome, SendOptions } from '../../src/chain/rpc/transport.ts'
import { useFastClock } from '../support/fast-clock.ts'

/* How a batch passes from one endpoint to the next, with endpoints and a clock of the test. */

beforeAll(useFastClock)
// A timer that a test left behind does not count in the next one.
beforeEach(() => void vi.clearAllTimers())
afterAll(() => void vi.useRealTimers())

type Reply = Outcome<unknown> | 'hang' | Error | ((nth: number) => Outcome<unknown> | Promise<Outcome<unknown>>)

const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value })
const refused = (message: string, code = -32_000): Outcome<unknown> => ({
  ok: false,
  error: new NodeError({ code, message }),
})
const late = <T>(ms: number, value: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, ms, value))
const down = (kind: 'unanswered' | 'size' = 'unanswered') =>
  new NodeUnreachable('down', kind === 'size' ? { kind, usable: null } : { kind })

/** A node whose endpoints answer each request of a batch alike. */
const open = (replies: readonly Reply[], given: readonly Rank[] = [], timeoutMs = 3_000) => {
  const began = Date.now()
  const sent: { readonly endpoint: number; readonly at: number }[] = []
  const aborted: { readonly endpoint: number; readonly reason: unknown }[] = []
  const recorded: { readonly endpoint: number; readonly ms: number }[] = []
  const penalized: { readonly endpoint: number; readonly why: string }[] = []
  const checked: { readonly endpoint: number; readonly withinMs: number; readonly at: number }[] = []
  const reports: (EndpointReport & { readonly endpoint: number })[] = []
  const states: EndpointState[] = replies.map(() => learn(initialState(1n), { is: 'chain', right: true }, 0))
  const answer = async (index: number, reply: Reply, signal: AbortSignal): Promise<Outcome<unknown>> => {
    signal.addEventListener('abort', () => aborted.push({ endpoint: index, reason: signal.reason }))
    if (reply === 'hang') return new Promise((_, reject) => signal.addEventListener('abort', () => reject(down())))
    if (reply instanceof Error) throw reply
    return typeof reply === 'function' ? reply(sent.filter(({ endpoint }) => endpoint === index).length) : reply
  }
  const endpoints = replies.map((reply, index) => {
    const latency = createLatency()
    return {
      index,
      state: () => states[index],
      isMissing: () => false,
      learn: (report: EndpointReport) => {
        reports.push({ ...report, endpoint: index })
        states[index] = learn(states[index] ?? initialState(1n), report, Date.now())
      },
      latency: {
        ...latency,
        record: (ms: number) => {
          recorded.push({ endpoint: index, ms })
          latency.record(ms)
        },
      },
      send: async (batch: object, { signal = new AbortController().signal }: SendOptions) => {
        sent.push({ endpoint: index, at: Date.now() - began })
        const outcome = await answer(index, reply, signal)
        return Object.fromEntries(Object.keys(batch).map((key) => [key, outcome]))
      },
    } as unknown as Endpoint
  })
  const registry = {
    ranked: async () => endpoints.map((endpoint, at) => ({ endpoint, rank: given[at] ?? 'ok' })),
    penalize: (endpoint: number, why: string) => penalized.push({ endpoint, why }),
    checkLiveness: ({ index }: Endpoint, withinMs: number) =>
      checked.push({ endpoint: index, withinMs, at: Date.now() - began }),
  } as unknown as EndpointRegistry
  const node = createNode({ registry, chainId: 8453, timeoutMs })
  const by = () => sent.map(({ endpoint }) => endpoint)
  const penalizeState = (index: number) => {
    const contradiction = { is: 'contradiction', why: 'another block' } as const
    states[index] = learn(states[index] ?? initialState(1n), contradiction, Date.now())
  }
  const silence = (index: number) => {
    const silent = { is: 'silent', since: Date.now() } as const
    states[index] = learn(states[index] ?? initialState(1n), silent, Date.now())
  }
  return {
    ...node,
    sent,
    by,
    aborted,
    recorded,
    penalized,
    checked,
    reports,
    silence,
    penalizeState,
    tookMs: () => Date.now() - began,
  }
}

const batch = { id: getChainId() }
const block = { block: getBlock(7n) }

describe('a batch', () => {
  test('is answered by the first endpoint alone, whose time is recorded', async () => {
    const { sendBy, by, recorded, reports } = open([() => late(20, ok(1)), ok(2)])
    expect(await sendBy(batch)).toEqual({ endpoint: 0, outcomes: { id: ok(1) } })
    expect([by(), recorded, reports]).toEqual([[0], [{ endpoint: 0, ms: 20 }], []])
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each<[string, Reply]>([
    ['gives no answer', down()],
    ['does not have the block', refused('header not found')],
    ['has a rate limit', refused('slow down', 429)],
  ])('passes on at once when an endpoint %s, and a failure has no time', async (_, reply) => {
    const { sendBy, sent, recorded } = open([reply, ok(2), ok(3)])
    expect(await sendBy(batch)).toMatchObject({ endpoint: 1 })
    expect(sent).toEqual([
      { endpoint: 0, at: 0 },
      { endpoint: 1, at: 0 },
    ])
    expect(recorded.map(({ endpoint }) => endpoint)).toEqual(reply instanceof Error ? [1] : [0, 1])
  })

  test('passes on when a block is null that an endpoint may lack, and not when another value is', async () => {
    const behind = open([ok(null), ok({ number: 7n })])
    expect((await behind.sendBy(block)).endpoint).toBe(1)
    const other = open([ok(null), ok(1)])
    expect((await other.sendBy(batch)).endpoint).toBe(0)
    expect(other.by()).toEqual([0])
  })

  test('ends with a revert, which is an answer', async () => {
    const { sendBy, by } = open([refused('execution reverted', 3), ok(2)])
    expect((await sendBy(batch)).endpoint).toBe(0)
    expect(by()).toEqual([0])
  })

  test('that all endpoints answer in part has the first of these answers', async () => {
    const { sendBy, by } = open([down(), ok(null), refused('header not found')])
    expect(await sendBy(block)).toEqual({ endpoint: 1, outcomes: { block: ok(null) } })
    expect(by()).toEqual([0, 1, 2])
  })

  test('whose part is enough for the caller is not passed on', async () => {
    const { sendBy, by } = open([ok(null), ok(1)])
    expect((await sendBy(block, { isAnswer: ({ block: it }) => it.ok })).endpoint).toBe(0)
    expect(by()).toEqual([0])
    const not = open([ok(null), ok(1)])
    expect((await not.sendBy(block, { isAnswer: () => false })).endpoint).toBe(1)
  })

  test('without an answer is service_unavailable, and reports when an answer is too long', async () => {
    const none = open([down(), down()])
    await expect(none.send(batch)).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(none.tookMs()).toBe(0)
    await expect(open([]).send(batch)).rejects.toThrow('no node of chain 8453 answers')
    await expect(open([down('size'), down()]).send(batch)).rejects.toThrow('too long')
    expect(await open([down('size'), ok(2)]).send(batch)).toEqual({ id: ok(2) })
  })

  test('ends with an error of the program that is not of a node', async () => {
    const fault = new RangeError('a bug')
    const { send, by } = open([fault, ok(2)])
    await expect(send(batch)).rejects.toBe(fault)
    expect(by()).toEqual([0])
  })
})

describe('an endpoint that takes its time', () => {
  test('gets a rival after its usual time, and the rest after theirs', async () => {
    const { sendBy, sent } = open(['hang', 'hang', 'hang', ok(4)])
    expect((await sendBy(batch)).endpoint).toBe(3)
    expect(sent.map(({ at }) => at)).toEqual([0, 250, 500, 750])
  })

  test.each<[Rank, number]>([
    ['ok', 250],
    ['incomplete logs', 250],
    ['lagging', 500],
    ['penalized', 500],
  ])('gets a rival of the rank %s after %i ms', async (rank, ms) => {
    const { sendBy, sent } = open(['hang', ok(2)], ['ok', rank])
    await sendBy(batch)
    expect(sent[1]?.at).toBe(ms)
  })

  test('may still answer first, and its rival is aborted', async () => {
    const { sendBy, by, aborted, reports } = open([() => late(300, ok(1)), 'hang'])
    expect((await sendBy(batch)).endpoint).toBe(0)
    expect(by()).toEqual([0, 1])
    expect(aborted).toEqual([
      { endpoint: 0, reason: expect.objectContaining({ name: 'AbortError' }) },
      { endpoint: 1, reason: expect.objectContaining({ message: 'the batch is answered' }) },
    ])
    // The rival was asked later, so it did not lose a race that it could win; but it was slower.
    expect(reports.map(({ endpoint, is }) => [endpoint, is])).toEqual([[1, 'overtaken']])
  })

  test('loses the race, with the time that it took so far and the moment when it was asked', async () => {
    const { sendBy, recorded, reports } = open(['hang', () => late(40, ok(2))])
    const began = Date.now()
    await sendBy(batch)
    expect(reports).toEqual([{ is: 'overtaken', since: began, endpoint: 0 }])
    expect(recorded).toEqual([
      { endpoint: 1, ms: 40 },
      { endpoint: 0, ms: 290 },
    ])
  })

  test('does not lose to one that is penalized', async () => {
    const { sendBy, reports, recorded, penalizeState } = open(['hang', ok(2)])
    penalizeState(1)
    expect((await sendBy(batch)).endpoint).toBe(1)
    expect([reports, recorded.map(({ endpoint }) => endpoint)]).toEqual([[], [1]])
  })

  test('is checked for life after a third of the time-out, and the check has a sixth', async () => {
    const { send, checked, silence } = open(['hang'], [], 3_000)
    setTimeout(silence, 1_400, 0)
    await expect(send(batch)).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(checked).toEqual([{ endpoint: 0, withinMs: 500, at: 1_000 }])
  })

  test('is waited for while it is up, and no longer', async () => {
    const slow = open([() => late(8_000, ok(1))])
    expect(await slow.send(batch)).toEqual({ id: ok(1) })
    const { send, silence, tookMs } = open(['hang'])
    setTimeout(silence, 1_100, 0)
    await expect(send(batch)).rejects.toMatchObject({ code: 'service_unavailable' })
    // The next check of its state, every 250 milliseconds.
    expect(tookMs()).toBe(1_250)
  })

  test('gets a rival after its own usual time, and its state is checked four times a second', async () => {
    const usual = (nth: number) => (nth <= 20 ? late(40, ok(1)) : new Promise<Outcome<unknown>>(() => {}))
    const pair = open([usual, ok(2)])
    const alone = open([usual])
    for (let times = 0; times < 20; times += 1) {
      await pair.sendBy(batch)
      await alone.sendBy(batch)
    }
    expect(new Set(pair.by())).toEqual(new Set([0]))
    expect((await pair.sendBy(batch)).endpoint).toBe(1)
    const [first, second] = pair.sent.slice(-2)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBe(40)
    const began = Date.now()
    setTimeout(alone.silence, 1_100, 0)
    await expect(alone.sendBy(batch)).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(Date.now() - began).toBe(1_250)
  })

  test('is not waited for when another one has answered in part', async () => {
    const { sendBy, tookMs } = open(['hang', ok(null)])
    expect(await sendBy(block)).toEqual({ endpoint: 1, outcomes: { block: ok(null) } })
    expect(tookMs()).toBe(500)
  })

  test('is not checked for life once the batch is answered', async () => {
    const { send, checked } = open(['hang', ok(2)])
    await send(batch)
    await late(2_000, null)
    expect(checked).toEqual([])
  })
})

describe('an answer that contradicts what is known', () => {
  const contradicts = ({ id }: { readonly id: Outcome<number> }) =>
    id.ok && id.value < 5 ? `too low: ${id.value}` : null

  test('penalizes its endpoint when another one has another answer', async () => {
    const { sendBy, penalized } = open([ok(1), ok(2), ok(5), ok(6)])
    expect((await sendBy(batch, { contradicts })).endpoint).toBe(2)
    expect(penalized).toEqual([
      { endpoint: 0, why: 'too low: 1' },
      { endpoint: 1, why: 'too low: 2' },
    ])
  })

  test('counts when there is no other, and penalizes no endpoint', async () => {
    const { sendBy, penalized } = open([ok(1), ok(2), down()])
    expect(await sendBy(batch, { contradicts })).toMatchObject({ endpoint: 0, outcomes: { id: ok(1) } })
    expect(penalized).toEqual([])
  })

  test('counts before one in part, and does not end the wait for another one', async () => {
    const missing = refused('header not found')
    const suspect = open([missing, ok(1), () => late(2_000, ok(5))])
    expect((await suspect.sendBy(batch, { contradicts })).endpoint).toBe(2)
    const both = open([missing, ok(1)])
    expect((await both.sendBy(batch, { contradicts })).endpoint).toBe(1)
  })
})

describe('the signal of the caller', () => {
  test('ends the batch at once and the requests with it', async () => {
    const stop = new AbortController()
    const { send, aborted, tookMs } = open(['hang', 'hang'])
    setTimeout(() => stop.abort(new Error('left')), 300)
    await expect(send(batch, { signal: stop.signal })).rejects.toThrow('left')
    expect([tookMs(), aborted.map(({ endpoint }) => endpoint)]).toEqual([300, [0, 1]])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('ends a batch that waits for the probe of an endpoint', async () => {
    const registry = { ranked: () => new Promise(() => {}) } as unknown as EndpointRegistry
    const stop = new AbortController()
    setTimeout(() => stop.abort(new Error('left')), 300)
    const { send } = createNode({ registry, chainId: 8453, timeoutMs: 3_000 })
    await expect(send(batch, { signal: stop.signal })).rejects.toThrow('left')
  })
})

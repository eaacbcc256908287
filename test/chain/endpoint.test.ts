import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { needsOf } from '../../src/chain/endpoints/endpoint.ts'
import type { NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'
import { nodeRequests } from '../../src/chain/rpc/request-channel.ts'
import { getBlock, getLogs, type Request, viewCall } from '../../src/chain/rpc/requests.ts'
import { call } from '../../src/protocol/abi/outputs.ts'
import { any, failed, many, ok, openEndpoint, refused, silence, unreachable } from '../support/open-endpoint.ts'

/* What an endpoint sends and learns, with a transport of the test. */

const START = 1_800_000_000_000
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
  vi.spyOn(Math, 'random').mockReturnValue(1)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('a batch', () => {
  test('of more than a hundred requests is split, and the others go once the first is accepted', async () => {
    let accept = (): void => {}
    const accepted = new Promise<void>((resolve) => {
      accept = resolve
    })
    const { send, sent, node } = openEndpoint()
    node.reply = async (requests) => {
      await accepted
      return requests.map(({ method }) => ok(method))
    }
    const requests = many(250)
    const done = send({ requests })
    await Promise.resolve()
    expect(sent.map(({ count }) => count)).toEqual([100])
    accept()
    const { requests: outcomes } = await done
    expect(sent.map(({ count, alone }) => [count, alone])).toEqual([
      [100, false],
      [100, false],
      [50, false],
    ])
    expect(outcomes).toEqual(requests.map(({ method }) => ok(method)))
  })

  test('of a hundred is not', async () => {
    const { failure, sizes } = openEndpoint()
    expect([await failure(many(100)), sizes(), await failure(many(101)), sizes()]).toEqual([
      null,
      [100],
      null,
      [100, 1],
    ])
  })

  test.each<[string, number, (number | null)[], number[], number]>([
    ['by a quarter', 40, [null], [40, 10, 10, 10, 10], 10],
    ['by the stated limit', 40, [39], [40, 39, 1], 39],
    ['by a quarter when the stated limit was kept', 40, [40], [40, 10, 10, 10, 10], 10],
    ['again', 40, [null, null], [40, 10, ...Array<number>(20).fill(2)], 2],
    ['down to one', 3, [null], [3, 1, 1, 1], 1],
    ['to one when none is stated', 3, [0], [3, 1, 1, 1], 1],
    ['by a quarter of what was sent', 120, [null], [100, 25, 25, 25, 25, 20], 25],
  ])('that is refused is made smaller %s, and the size that works is kept', async (_, count, limits, sizes, most) => {
    const pool = openEndpoint()
    const refusals = limits.map(refused)
    pool.node.reply = (requests) => {
      const refusal = refusals.shift()
      if (refusal !== undefined) throw refusal
      return requests.map(() => ok())
    }
    expect(await pool.failure(many(count))).toBeNull()
    const alone = pool.sent.at(-1)?.alone
    expect([pool.sizes(), pool.state().batch.most, alone]).toEqual([sizes, most, most === 1])
    expect([await pool.failure(many(most + 1)), pool.sizes()]).toEqual([null, [most, 1]])
  })

  test('of one request that is refused is sent alone, and then no more', async () => {
    const refusal = refused()
    const { failure, sent, state } = openEndpoint(() => {
      throw refusal
    })
    expect(await failure(many(1))).toBe(refusal)
    expect(sent.map(({ count, alone }) => [count, alone])).toEqual([
      [1, false],
      [1, true],
    ])
    expect(state().batch.most).toBe(100)
  })

  test('that fails otherwise is not sent again', async () => {
    const { failure, sizes } = openEndpoint(() => {
      throw silence
    })
    expect([await failure(many(40)), sizes()]).toEqual([silence, [40]])
  })

  test('is published with its chain, node, methods and signal, and its options go to the node', async () => {
    const { signal } = new AbortController()
    const { send, sent, node: ours } = openEndpoint()
    ours.odd = ['id', 'extra']
    const seen: unknown[] = []
    onTestFinished(
      nodeRequests.subscribe({
        onEnd: ({ chainId, node, methods, signal: by, odd, result }) =>
          seen.push([chainId, node, methods, by, [...odd], result]),
      }),
    )
    await send({ a: any('a'), b: [any('b')] }, { signal })
    expect(seen).toEqual([[8453, 3, ['a', 'b'], signal, ['id', 'extra'], [ok(), ok()]]])
    expect(sent).toMatchObject([{ signal }])
  })
})

test('one request needs one capability', () => {
  const needs: readonly [Request<unknown>, string[]][] = [
    [getLogs({ address: '0x', fromBlock: 1n, toBlock: 2n }), ['logs']],
    [any('eth_simulateV1', { params: [{}, 'latest'] }), ['simulation']],
    [any('eth_call', { params: [{}, { blockHash: '0x' }, {}] }), ['overrides']],
    [any('eth_call', { params: [{}, { blockHash: '0x' }] }), ['pinned']],
    [any('eth_call', { params: [{}, 'latest'] }), []],
    [any('eth_x', { params: [{}, null] }), []],
    [any('eth_x', { params: [{}, {}, {}] }), ['pinned']],
    [any('debug_traceTransaction', { params: ['0x', {}] }), ['trace']],
    [getBlock('safe'), ['tags']],
    [getBlock('finalized'), ['tags']],
    [getBlock('latest'), []],
  ]
  for (const [request, expected] of needs) expect(needsOf([request]), request.method).toEqual(expected)
  expect(needsOf(needs.map(([request]) => request).concat(getBlock('safe')))).toEqual([
    'logs',
    'simulation',
    'overrides',
    'pinned',
    'trace',
    'tags',
  ])
})

describe('an answer', () => {
  const logs = getLogs({ address: '0x', fromBlock: 1n, toBlock: 2n })
  const lacking = (text = 'eth_getLogs not supported') => failed(text)

  test('with a newest block is its head, and no other block is', async () => {
    const { send, state, node } = openEndpoint()
    const block = { number: 7n, timestamp: 8n, hash: '0x1' }
    node.reply = (requests) => requests.map(() => ok(block))
    await send({ a: getBlock(7n), b: getBlock('safe'), c: any('eth_x', { params: ['latest'] }) })
    expect(state().head).toBeNull()
    await send({ head: getBlock('latest') })
    expect(state().head).toEqual({ number: 7n, timestamp: 8n, seenAt: START })
    for (const other of [ok(null), ok({ number: 9n }), ok({ number: 9, timestamp: 9 }), failed('header not found')]) {
      node.reply = () => [other]
      await send({ head: getBlock('latest') })
    }
    expect(state().head).toMatchObject({ number: 7n })
  })

  test('ends a row of failures, and shows which capabilities are there', async () => {
    const { send, learn, state, node, isMissing } = openEndpoint()
    learn({ is: 'fault', fault: { kind: 'unanswered' }, text: 'x', needed: [] })
    node.reply = () => [lacking(), ok()]
    await send({ logs, tags: getBlock('safe') })
    expect([state().failures, isMissing('logs'), isMissing('tags')]).toEqual([0, true, false])
    vi.setSystemTime(START + 5_000)
    expect(isMissing('logs')).toBe(false)
    node.reply = () => [ok([])]
    await send({ logs })
    expect(state().missing).toEqual({})
  })

  test('with the same refusal many times counts it once, and different ones each', async () => {
    const { send, state, node } = openEndpoint()
    node.reply = () => [lacking(), lacking(), lacking()]
    await send({ all: [logs, logs, logs] })
    expect(state().missing.logs?.times).toBe(1)
    await send({ all: [logs, logs, logs] })
    expect(state().missing.logs?.times).toBe(2)
    node.reply = () => [lacking(), lacking('eth_getLogs is disabled'), ok()]
    await send({ all: [logs, logs, logs] })
    // What was served is there, until the refusals of the same batch.
    expect(state()).toMatchObject({ missing: { logs: { times: 2 } }, fault: 'eth_getLogs is disabled' })
  })

  test.each([
    ['timed out', 2],
    ['rate limit', 2],
    ['header not found', 0],
    ['execution reverted', 0],
  ])('of which a part is refused with "%s" leaves %i failures', async (text, failures) => {
    const { send, learn, state, node } = openEndpoint()
    learn({ is: 'overtaken', since: START })
    node.reply = () => [ok(), failed(text)]
    await send({ all: many(2) })
    expect(state().failures).toBe(failures)
  })

  test('keeps the text of a fault without its URL, but not what the request is to blame for', async () => {
    const { send, state, node } = openEndpoint()
    node.reply = () => [failed('header not found at http://a.example/key')]
    await send({ a: any('a') })
    expect(state().fault).toBe('header not found at <node>')
    node.reply = () => [failed('execution reverted')]
    await send({ a: any('a') })
    expect(state().fault).toBe('header not found at <node>')
    node.reply = () => [failed('rate limit')]
    await send({ a: any('a', { isForLater: () => true }) })
    expect(state()).toMatchObject({ fault: 'header not found at <node>', pausedUntil: 0 })
    await send({ a: any('a', { isForLater: ({ message }) => message === 'another' }) })
    expect(state().fault).toBe('rate limit')
  })

  test('counts, so that a larger batch is tried again in time', async () => {
    const { send, state } = openEndpoint()
    for (let times = 0; times < 3; times += 1) await send({ a: any('a') })
    expect(state().batch).toEqual({ most: 100, answers: 3 })
  })

  test('to a merged call shows how many views are merged, unless it runs foreign code', async () => {
    const block = { blockHash: `0x${'b1'.repeat(32)}` } as const
    const views = (['isPaused', 'getTotalHedgeEvents'] as const).map((name) =>
      viewCall(`0x${'d1'.repeat(20)}`, call(name), block),
    )
    for (const foreign of [true, false]) {
      const { send, state, node } = openEndpoint()
      node.reply = (requests) => requests.map(({ views }) => (views === undefined ? ok(false) : failed('out of gas')))
      await send({ views }, { foreign })
      expect(state().merging.most < 65_536).toBe(!foreign)
    }
  })

  test('is time-stamped when it arrives, even to a part of a batch that fails', async () => {
    const { state, failure, node } = openEndpoint()
    let nth = 0
    node.reply = (requests) => {
      nth += 1
      if (nth > 1) throw silence
      return requests.map(() => ok())
    }
    expect(await failure(many(150))).toBe(silence)
    expect(state().respondedAt).toBe(START)
  })
})

describe('a batch without an answer', () => {
  test('is a failure with the needs of its requests', async () => {
    const text = 'node refused the batch at http://a.example/key'
    const { failure, state, isMissing } = openEndpoint(() => {
      throw unreachable({ kind: 'capability', missing: null }, text)
    })
    await failure([any('a'), getBlock('safe')])
    expect([state().fault, isMissing('tags')]).toEqual(['node refused the batch at <node>', true])
  })

  test('is none when its caller left, or by an error of the program', async () => {
    const leaving = new AbortController()
    const { failure, state, node } = openEndpoint(() => {
      throw silence
    })
    await failure(many(1), { signal: leaving.signal })
    expect(state().failures).toBe(1)
    leaving.abort()
    expect(await failure(many(1), { signal: leaving.signal })).toBe(silence)
    expect(state().failures).toBe(1)
    const mistake = new Error('a mistake')
    node.reply = () => {
      throw mistake
    }
    expect(await failure(many(1))).toBe(mistake)
    expect(state()).toMatchObject({ failures: 1, fault: 'no answer' })
  })

  test.each<[string, NodeUnreachable, number]>([
    ['silence', silence, 1],
    ['another answer', unreachable({ kind: 'garbage' }), 0],
    ['a rate limit', unreachable({ kind: 'rate', retryAfterMs: 9 }), 0],
  ])('opens new connections once the endpoint is down: %s', async (_, fault, renewed) => {
    const { failure, done, state } = openEndpoint(() => {
      throw fault
    })
    await failure(many(1))
    if (fault.fault.kind !== 'rate') {
      expect([done, state().pausedUntil]).toEqual([[], 0])
      await failure(many(1))
    }
    expect(state().pausedUntil).toBeGreaterThan(START)
    expect(done).toHaveLength(renewed)
    await failure(many(1))
    expect(done).toHaveLength(renewed)
  })

  test.each(['overtaken', 'silent'] as const)('that was %s opens them too', (is) => {
    const { learn, done, close } = openEndpoint()
    learn({ is, since: START })
    if (is === 'overtaken') {
      expect(done).toEqual([])
      learn({ is, since: START })
    }
    expect(done).toEqual(['renewed'])
    void close()
    expect(done).toEqual(['renewed', 'closed'])
  })
})

describe('a batch that runs foreign code', () => {
  const trace = any('debug_traceTransaction')
  test.each<[string, Request<unknown>, Fault, number, boolean]>([
    ['silence', any('a'), { kind: 'unanswered' }, 0, false],
    ['a rate limit', any('a'), { kind: 'rate', retryAfterMs: 5_000 }, 0, false],
    ['another answer', any('a'), { kind: 'garbage' }, 0, false],
    ['a missing capability', trace, { kind: 'capability', missing: null }, 0, true],
    ['another answer to a trace', trace, { kind: 'garbage' }, 0, true],
    ['silence to a trace', trace, { kind: 'unanswered' }, 0, false],
  ])('counts only what the code cannot cause: %s', async (_, request, fault, failures, isMissing) => {
    const pool = openEndpoint(() => {
      throw unreachable(fault)
    })
    await pool.failure([request], { foreign: true })
    expect(pool.state()).toMatchObject({ failures, pausedUntil: 0 })
    expect(pool.isMissing('trace')).toBe(isMissing)
    // Without foreign code each of them counts.
    await pool.failure([request])
    expect([pool.state().failures > 0, pool.isMissing('trace')]).toEqual([request !== trace, request === trace])
  })

  test('does not set the head or the size of a batch, but ends a row of failures', async () => {
    const { send, learn, state, node } = openEndpoint()
    learn({ is: 'overtaken', since: START })
    let refuses = true
    node.reply = (requests) => {
      if (refuses) {
        refuses = false
        throw refused(1)
      }
      return requests.map(() => ok({ number: 7n, timestamp: 8n }))
    }
    await send({ head: getBlock('latest'), other: any('a') }, { foreign: true })
    expect(state()).toMatchObject({ head: null, batch: { most: 100 }, failures: 0, respondedAt: START })
  })
})

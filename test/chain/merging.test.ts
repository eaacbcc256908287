import { setImmediate } from 'node:timers/promises'
import { encodeErrorResult, encodeFunctionResult, type Hex, multicall3Abi, numberToHex, size } from 'viem'
import { describe, expect, test } from 'vitest'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import {
  answeredMerging,
  firstMerging,
  learnMerging,
  type Merging,
  type NotMerged,
} from '../../src/chain/rpc/merged/merging.ts'
import { bytesOf, multicall } from '../../src/chain/rpc/merged/multicall.ts'
import { sendMerged } from '../../src/chain/rpc/merged/send.ts'
import { getBlock, type Request, type ViewRequest } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { contractFunction } from '../../src/protocol/abi/contract-function.ts'

/* View calls that are merged into one call, by an endpoint whose answers a test sets. */

const TARGET: Hex = `0x${'aa'.repeat(20)}`
const hashOf = (nth: number): Hex => numberToHex(nth, { size: 32 })
const ok = (value: unknown): Outcome<unknown> => ({ ok: true, value })
const failed = (message: string): Outcome<unknown> => ({ ok: false, error: new NodeError({ code: -32_000, message }) })

/** A view whose calldata is its number, in so many words. */
const viewOf = (nth: number, block = 1, words = 1): ViewRequest => {
  const view = { to: TARGET, data: numberToHex(nth, { size: 32 * words }), blockHash: hashOf(block) }
  return { method: 'eth_call', params: [view.data], parse: (raw) => `parsed ${raw}`, view }
}

/** The error of a revert with a reason. */
const ERROR = [{ type: 'error', name: 'Error', inputs: [{ name: 'reason', type: 'string' }] }] as const

/** Bytes of a view of one word in a merged call: six words. */
const BYTES = 192

type Sent = { readonly views: number; readonly method: string; readonly request: Request<unknown> }
type Answer = (request: Request<unknown>) => Outcome<unknown>

/** Answers a merged call with one outcome for each view, and any other request with its calldata. */
const honest: Answer = (request) =>
  request.views === undefined
    ? ok(`single ${request.params[0]}`)
    : ok(Array.from({ length: request.views }, (_, at) => ok(`merged ${at}`)))

const endpointOf = (answer: Answer, { most = 10_000, by = 'contract' }: Partial<Merging> = {}) => {
  const batches: Sent[][] = []
  const learned: NotMerged[] = []
  let merging: Merging = { by, most, answers: 0 }
  return {
    batches,
    learned,
    sizes: () => batches.map((batch) => batch.map(({ views }) => views)),
    async send(requests: readonly Request<unknown>[]) {
      batches.push(requests.map((request) => ({ views: request.views ?? 0, method: request.method, request })))
      // A node answers in a later turn of the event loop.
      await setImmediate()
      return requests.map(answer)
    },
    merging: () => merging,
    learn: (what: NotMerged) => {
      learned.push(what)
      merging = learnMerging(merging, what)
    },
  }
}

const valuesOf = (outcomes: readonly Outcome<unknown>[]) =>
  outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.error.message))

describe('view calls', () => {
  test('of one block are merged, in the order of the requests, next to all other requests', async () => {
    const endpoint = endpointOf(honest)
    const head = getBlock('latest')
    const outcomes = await sendMerged([viewOf(1), head, viewOf(2, 2), viewOf(3), viewOf(4, 2), viewOf(5, 3)], endpoint)
    expect(endpoint.sizes()).toEqual([[0, 0, 2, 2]])
    expect(valuesOf(outcomes)).toEqual([
      ...['merged 0', 'single latest', 'merged 0', 'merged 1', 'merged 1', `single ${hashOf(5)}`],
    ])
  })

  test.each([
    [3 * BYTES, [[3]]],
    [3 * BYTES - 1, [[0, 2]]],
    [2 * BYTES, [[0, 2]]],
    [BYTES, [[0, 0, 0]]],
    [0, [[0, 0, 0]]],
  ])('of together 576 bytes are sent in calls of at most %i bytes', async (most, sizes) => {
    const endpoint = endpointOf(honest, { most })
    await sendMerged([viewOf(1), viewOf(2), viewOf(3)], endpoint)
    expect(endpoint.sizes()).toEqual(sizes)
  })

  test('whose answer is ambiguous are sent again alone', async () => {
    const endpoint = endpointOf((request) =>
      request.views === undefined ? honest(request) : ok([ok('a'), null, failed('execution reverted')]),
    )
    const outcomes = await sendMerged([viewOf(1), viewOf(2), viewOf(3)], endpoint)
    expect(valuesOf(outcomes)).toEqual(['a', `single ${hashOf(2)}`, 'execution reverted'])
    expect([endpoint.sizes(), endpoint.learned]).toEqual([[[3], [0]], []])
  })

  test('are merged by code where the chain has no contract, and its absence is learned once', async () => {
    const endpoint = endpointOf((request) =>
      request.views !== undefined && Object(request.params[0]).to !== undefined ? ok(null) : honest(request),
    )
    const outcomes = await sendMerged([viewOf(1), viewOf(2)], endpoint)
    expect(valuesOf(outcomes)).toEqual(['merged 0', 'merged 1'])
    expect([endpoint.sizes(), endpoint.learned]).toEqual([[[2], [2]], ['absent']])
  })

  test('that a node refuses merged are sent in halves, and then alone', async () => {
    const refusing =
      (most: number): Answer =>
      (request) =>
        (request.views ?? 0) > most ? failed('out of gas') : honest(request)
    for (const [most, sizes, learned] of [
      [2, [[4], [2, 2]], [4 * BYTES]],
      [0, [[4], [2, 2], [0, 0], [0, 0]], [4 * BYTES, 2 * BYTES, 2 * BYTES]],
    ] as const) {
      const endpoint = endpointOf(refusing(most))
      const outcomes = await sendMerged(
        [1, 2, 3, 4].map((nth) => viewOf(nth)),
        endpoint,
      )
      expect(endpoint.sizes()).toEqual(sizes)
      expect(endpoint.learned).toEqual(learned.map((refused) => ({ refused })))
      expect(valuesOf(outcomes).every((value) => typeof value === 'string' && value !== 'out of gas')).toBe(true)
    }
  })

  test('are sent in halves also when answers of other requests make merged calls larger meanwhile', async () => {
    const four = [1, 2, 3, 4].map((nth) => viewOf(nth))
    const refusing = endpointOf((request) => ((request.views ?? 0) > 1 ? failed('out of gas') : honest(request)))
    await sendMerged(four, { ...refusing, learn: () => {} })
    expect(refusing.sizes()).toEqual([[4], [2, 2], [0, 0], [0, 0]])
    const endpoint = endpointOf(honest)
    const send = async (requests: readonly Request<unknown>[]) => {
      const answers = await endpoint.send(requests)
      if (requests.some(({ views = 0 }) => views > 1))
        throw new NodeUnreachable('large', { kind: 'size', usable: null })
      return answers
    }
    await sendMerged(four, { ...endpoint, send, learn: () => {} })
    expect(endpoint.sizes()).toEqual([[4], [2, 2], [0, 0, 0, 0]])
  })

  test('by code that returns nothing are sent in halves, since no contract is absent', async () => {
    const endpoint = endpointOf((request) => ((request.views ?? 0) > 2 ? ok(null) : honest(request)), { by: 'code' })
    await sendMerged(
      [1, 2, 3, 4].map((nth) => viewOf(nth)),
      endpoint,
    )
    expect([endpoint.sizes(), endpoint.learned]).toEqual([[[4], [2, 2]], [{ refused: 4 * BYTES }]])
  })

  test.each([
    ['header not found', []],
    ['slow down, rate limit', []],
    ['request timed out', [{ refused: 2 * BYTES }]],
  ])('have the fault of the node, "%s", and only a time-out makes merged calls smaller', async (message, learned) => {
    const endpoint = endpointOf((request) => (request.views === undefined ? honest(request) : failed(message)))
    const outcomes = await sendMerged([viewOf(1), viewOf(2), getBlock('latest')], endpoint)
    expect(valuesOf(outcomes)).toEqual([message, message, 'single latest'])
    expect([endpoint.learned, endpoint.batches.length]).toEqual([learned, 1])
  })

  test('are sent apart from the other requests, and then in halves, when the batch as a whole is refused', async () => {
    for (const kind of ['size', 'batch'] as const) {
      const endpoint = endpointOf(honest)
      const { send } = endpoint
      const outcomes = await sendMerged([viewOf(1), viewOf(2), viewOf(3), viewOf(4), getBlock('latest')], {
        ...endpoint,
        async send(requests) {
          const answers = await send(requests)
          if (requests.some(({ views = 0 }) => views > 2))
            throw new NodeUnreachable('too large', kind === 'size' ? { kind, usable: null } : { kind, most: null })
          return answers
        },
      })
      expect(endpoint.sizes()).toEqual([[0, 4], [0], [4], [2, 2]])
      expect(endpoint.learned).toEqual([{ refused: 4 * BYTES }])
      expect(valuesOf(outcomes)).toEqual(['merged 0', 'merged 1', 'merged 0', 'merged 1', 'single latest'])
    }
  })

  test.each([
    ['gives no answer', 'unanswered', [viewOf(1), viewOf(2)]],
    ['finds single requests too large', 'size', [viewOf(1), getBlock('latest')]],
  ] as const)('of an endpoint that %s are not sent again', async (_, kind, requests) => {
    const endpoint = endpointOf(honest)
    const failure = new NodeUnreachable('down', kind === 'size' ? { kind, usable: null } : { kind })
    let sends = 0
    const send = async () => {
      sends += 1
      throw failure
    }
    await expect(sendMerged(requests, { ...endpoint, send })).rejects.toBe(failure)
    expect(sends).toBe(1)
  })
})

describe('the most bytes of a merged call', () => {
  const answered = (answers: number, from: Merging): Merging =>
    Array.from({ length: answers }).reduce<Merging>((state) => answeredMerging(state), from)

  test('are half of what was refused, and never more than before', () => {
    expect(firstMerging).toEqual({ by: 'contract', most: 65_536, answers: 0 })
    expect(learnMerging({ ...firstMerging, answers: 7 }, { refused: 65_001 })).toEqual({
      ...firstMerging,
      most: 32_500,
    })
    expect(learnMerging({ ...firstMerging, most: 100 }, { refused: 65_000 }).most).toBe(100)
    expect(learnMerging(firstMerging, { refused: 1 }).most).toBe(0)
  })

  test('are those of code once there is no contract', () => {
    const code: Merging = { by: 'code', most: 8_192, answers: 0 }
    expect(learnMerging({ ...firstMerging, most: 5 }, 'absent')).toEqual(code)
    expect(learnMerging({ ...code, most: 5 }, 'absent')).toEqual({ ...code, most: 5 })
    expect(answered(101, { ...code, most: 5_000 }).most).toBe(8_192)
  })

  test('double after a hundred answers, up to the first value', () => {
    const less = { ...firstMerging, most: 2_000 }
    expect(answered(100, less)).toEqual({ ...less, answers: 100 })
    expect(answered(101, less)).toEqual({ ...less, most: 4_000, answers: 0 })
    expect(answered(101, { ...less, most: 40_000 }).most).toBe(65_536)
    expect(answered(101, { ...less, most: 0 }).most).toBe(1_024)
    expect(answered(500, firstMerging).most).toBe(65_536)
  })
})

describe('a merged call', () => {
  const aggregate = contractFunction(multicall3Abi, 'aggregate3')
  const calls = [viewOf(1), viewOf(2, 1, 3)]

  test('is one of the contract, or of code without a receiver, at the hash of the block', () => {
    const { method, params, views } = multicall('contract', calls)
    const data = aggregate.encode([
      calls.map(({ view }) => ({ target: view.to, allowFailure: true, callData: view.data })),
    ])
    expect([method, views]).toEqual(['eth_call', 2])
    expect(params).toEqual([{ to: '0xcA11bde05977b3631167028862bE2a173976CA11', data }, { blockHash: hashOf(1) }])
    const [byCode, at] = multicall('code', calls).params
    expect(Object(byCode)).toEqual({ data: expect.stringContaining(data.slice(2)) })
    expect(at).toEqual({ blockHash: hashOf(1) })
  })

  test('has as many bytes as its parts say, and the head of a list', () => {
    const encoded = ([...views]: readonly ViewRequest[]) =>
      size(Object(multicall('contract', views).params[0]).data as Hex)
    const none = encoded([])
    expect(bytesOf(viewOf(1).view)).toBe(BYTES)
    expect(encoded(calls) - none).toBe(calls.reduce((sum, { view }) => sum + bytesOf(view), 0))
    const odd = { ...viewOf(1), view: { ...viewOf(1).view, data: '0x12345678ab' as const } }
    expect(encoded([odd]) - none).toBe(bytesOf(odd.view))
  })

  const results = (...list: readonly (readonly [boolean, Hex])[]): Hex =>
    encodeFunctionResult({
      ...{ abi: multicall3Abi, functionName: 'aggregate3' },
      result: list.map(([success, returnData]) => ({ success, returnData })),
    })

  test('has an outcome of each call: a value, a revert with its reason, or none when it is ambiguous', () => {
    const reason = encodeErrorResult({ abi: ERROR, errorName: 'Error', args: ['Expired'] })
    const parse = (raw: Hex) => multicall('contract', calls).parse(raw)
    const parsed = parse(results([true, '0x01'], [false, reason]))
    expect(parsed?.[0]).toEqual(ok('parsed 0x01'))
    expect(parsed?.[1]).toMatchObject({ ok: false, error: { message: 'execution reverted: Expired', data: reason } })
    expect(parse(results([false, '0x'], [false, '0x12345678']))).toEqual([
      null,
      expect.objectContaining({
        error: expect.objectContaining({ message: 'execution reverted', data: '0x12345678' }),
      }),
    ])
  })

  test('is null without a contract, and an error with another number of answers', () => {
    const { parse } = multicall('contract', calls)
    expect(parse('0x')).toBeNull()
    expect(() => parse(results([true, '0x01']))).toThrow('an answer to each call')
    expect(() => parse(7)).toThrow(TypeError)
  })

  test('has an ambiguous answer where a value cannot be parsed, and an error where the parser reports one', () => {
    const throwing = (error: Error): ViewRequest => ({
      ...viewOf(1),
      parse: () => {
        throw error
      },
    })
    const error = new NodeError({ code: 3, message: 'no code' })
    const { parse } = multicall('contract', [throwing(new TypeError('shape')), throwing(error)])
    expect(parse(results([true, '0x01'], [true, '0x01']))).toEqual([null, { ok: false, error }])
  })
})

import { expect, test, vi } from 'vitest'
import { sendForeign } from '../../src/chain/pool/foreign.ts'
import type { EndpointRegistry } from '../../src/chain/pool/registry.ts'
import { NodeError, NodeUnreachable } from '../../src/chain/rpc/errors.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'
import { getBlock } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'

/* Which endpoints a batch of foreign code is sent to, and which of their answers is taken. */

type Answer = Outcome<unknown> | Error | 'never'

/** Sends a request to endpoints with these answers, in this order; `asked` are those it was sent to. */
const sendTo = (
  answers: readonly Answer[],
  { timeoutMs = 10_000, signal = undefined as AbortSignal | undefined } = {},
) => {
  const asked: number[] = []
  const ranked = answers.map((answer, index) => ({
    rank: 'ok',
    endpoint: {
      index,
      send: (_: unknown, options: { readonly signal: AbortSignal; readonly foreign: boolean }) => {
        expect(options.foreign).toBe(true)
        asked.push(index)
        if (answer instanceof Error) return Promise.reject(answer)
        if (answer !== 'never') return Promise.resolve({ head: answer })
        return new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason)))
      },
    },
  }))
  const registry = { ranked: () => Promise.resolve(ranked) } as unknown as EndpointRegistry
  const answer = sendForeign({ registry, chainId: 8453, timeoutMs }, { head: getBlock('latest') }, signal)
  return { answer, asked }
}

const unreachable = (fault: Fault) => new NodeUnreachable('the node failed', fault)
const good = (value: string): Outcome<unknown> => ({ ok: true, value })
const limited = (message: string): Outcome<unknown> => ({ ok: false, error: new NodeError({ code: 429, message }) })

test.each([
  ['the first answer is taken', [good('a'), good('b')], [0], { endpoint: 0, outcomes: { head: good('a') } }],
  [
    'a failure is followed by one endpoint more',
    [unreachable({ kind: 'unanswered' }), good('b')],
    [0, 1],
    { endpoint: 1 },
  ],
  ['a lacking answer is followed by one endpoint more', [limited('rate limit'), good('b')], [0, 1], { endpoint: 1 }],
  [
    'of two lacking answers the first is taken',
    [limited('rate limit'), limited('rate limit')],
    [0, 1],
    { endpoint: 0 },
  ],
  [
    'a lacking answer is better than a failure',
    [limited('rate limit'), unreachable({ kind: 'unanswered' })],
    [0, 1],
    { endpoint: 0 },
  ],
] as const)('%s', async (_, answers, asked, expected) => {
  const sent = sendTo(answers)
  expect(await sent.answer).toMatchObject(expected)
  expect(sent.asked).toEqual(asked)
})

test('two endpoints at most are asked, and an answer that is too long is not asked for again', async () => {
  const silent = unreachable({ kind: 'unanswered' })
  const three = sendTo([silent, silent, good('c')])
  await expect(three.answer).rejects.toThrow('no node of chain 8453 answers')
  expect(three.asked).toEqual([0, 1])
  const long = sendTo([unreachable({ kind: 'size', usable: null }), good('b')])
  await expect(long.answer).rejects.toThrow('the answer of the nodes of chain 8453 is too long')
  expect(long.asked).toEqual([0])
  const broken = new TypeError('a fault of the code')
  await expect(sendTo([broken, good('b')]).answer).rejects.toBe(broken)
})

test('the time for all is that of the chain, and three seconds at most', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => new AbortController().signal)
  await sendTo([good('a')], { timeoutMs: 2_999 }).answer
  await sendTo([good('a')], { timeoutMs: 3_001 }).answer
  expect(timeout.mock.calls).toEqual([[2_999], [3_000]])
  timeout.mockRestore()
})

test('silence ends with the time-out, or with the reason of the caller', async () => {
  await expect(sendTo(['never'], { timeoutMs: 1 }).answer).rejects.toThrow('did not answer within 1 ms')
  const caller = new AbortController()
  const timeout = AbortSignal.abort(new Error('late'))
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(timeout)
  const reason = new Error('the client left')
  caller.abort(reason)
  await expect(sendTo(['never'], { signal: caller.signal }).answer).rejects.toBe(reason)
})

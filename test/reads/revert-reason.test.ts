import { encodeErrorResult, keccak256, parseAbi } from 'viem'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { unavailable } from '../../src/lib/errors.ts'
import { createRevertReasons, type RevertedTransaction } from '../../src/reads/transactions/revert-reason.ts'
import { type Asked, blockAt, fakeChain, hashAt, tooLong } from '../support/fake-chain.ts'
import { SENDER } from '../support/fake-lookup.ts'
import { outcomeAfter } from '../support/outcome-after.ts'
import { Failure } from '../support/script.ts'

const HASH = keccak256('0x01')
const never = new AbortController().signal
const NO_TRACE = new Failure(-32_601, 'method not found')

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const reverted = (changes: Partial<RevertedTransaction> = {}): RevertedTransaction => ({
  ...{ hash: HASH, gasUsed: 21_000n, block: blockAt(990), functionName: undefined },
  call: {
    hash: HASH,
    from: SENDER,
    to: SENDER,
    nonce: 7n,
    value: 5n,
    gas: 64_000n,
    input: '0x12',
    authorizationList: null,
  },
  ...changes,
})

const error = (reason: string) => encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: [reason] })
const failed = (reason: string) => new Failure(3, `execution reverted: ${reason}`, error(reason))

type Answers = {
  readonly trace?: unknown
  /** The call as if in its block, and without block overrides. */
  readonly inBlock?: unknown
  readonly plain?: unknown
}

/** The node fails with values that are errors and answers with others. */
const open = ({ trace = NO_TRACE, inBlock, plain }: Answers) => {
  const state = { clock: 1 }
  const said = (value: unknown) => {
    if (value instanceof Error) throw value
    return value
  }
  const fake = fakeChain(({ method, params }: Asked) => {
    if (method === 'debug_traceTransaction') return said(trace)
    return method === 'eth_call' ? said(params.length > 2 ? inBlock : plain) : undefined
  })
  const reasonOf = createRevertReasons(() => state.clock)
  return { ...fake, state, reasonOf, read: (of = reverted()) => reasonOf(fake.chain, of, never, 'client') }
}

const reason = (text: string, exact: boolean) => ({ reason: expect.objectContaining({ reason: text, exact }) })
const OUT_OF_GAS = { code: 'execution_failed' }
const succeeds = 'execution reverted: the same call succeeds at the parent block'.slice(20)

test('a trace shows the exact reason, and no call is repeated', async () => {
  const { read, calls } = open({ trace: { output: error('Past deadline'), error: 'execution reverted' } })
  expect(await read()).toEqual(reason('Past deadline', true))
  expect(calls('eth_call')).toEqual([])
})

test.each<[string, Answers, unknown]>([
  ['the repeated call', { inBlock: failed('Pool closed') }, reason('Pool closed', false)],
  [
    'the repeated call, where the trace shows none',
    { trace: null, inBlock: failed('Pool closed') },
    reason('Pool closed', false),
  ],
  ['a repeated call that succeeds', { inBlock: '0x01', plain: failed('Pool closed') }, reason(succeeds, false)],
  [
    'the call without overrides, where nodes know none',
    { inBlock: new Failure(-32_602, 'too many arguments'), plain: failed('Pool closed') },
    reason('Pool closed', false),
  ],
  [
    'the call without overrides, where no node takes them',
    { inBlock: unavailable('no node answers'), plain: failed('Pool closed') },
    reason('Pool closed', false),
  ],
  ['nothing, when only the call without overrides succeeds', { inBlock: NO_TRACE, plain: '0x01' }, 'unavailable'],
  ['nothing, when nodes refuse both calls', { inBlock: NO_TRACE, plain: NO_TRACE }, 'unavailable'],
  ['nothing, when no node answers', { inBlock: unavailable('down'), plain: unavailable('down') }, 'unavailable'],
  [
    'the repeated call, when no node answers the trace',
    { trace: unavailable('down'), inBlock: failed('Pool closed') },
    reason('Pool closed', false),
  ],
])('the reason is that of %s', async (_, answers, expected) => {
  expect(await open(answers).read()).toEqual(expected)
})

test.each<[string, Answers, boolean]>([
  ['a trace', { trace: tooLong() }, true],
  ['a repeated call', { inBlock: tooLong() }, false],
  ['a call without overrides', { inBlock: NO_TRACE, plain: tooLong() }, false],
])('the data of %s that are too long are a reason of their own', async (_, answers, exact) => {
  const { read, calls } = open(answers)
  expect(await read()).toMatchObject({ reason: { exact, reason: 'execution reverted with more data than is read' } })
  if (exact) expect(calls('eth_call')).toEqual([])
})

test('a repeated call that times out is not repeated without overrides', async () => {
  const late = unavailable('late', new DOMException('late', 'TimeoutError'))
  const { read, calls } = open({ inBlock: late, plain: failed('Pool closed') })
  expect(await read()).toBe('unavailable')
  expect(calls('eth_call')).toHaveLength(1)
})

test('the call is repeated at the parent block, as if in its own', async () => {
  const { read, calls } = open({ inBlock: failed('Pool closed') })
  await read()
  const call = { from: SENDER, to: SENDER, value: '0x5', gas: '0xfa00', data: '0x12' }
  const own = { number: '0x3de', time: `0x${(1_000_990).toString(16)}` }
  expect(calls('eth_call').map(({ params }) => params)).toEqual([[call, { blockHash: hashAt(989) }, {}, own]])
})

test('a reason needs the parent block', async () => {
  const { chain, calls } = fakeChain(({ method }) => {
    if (method === 'debug_traceTransaction') return NO_TRACE
    return method === 'eth_getBlockByNumber' ? null : failed('Pool closed')
  })
  // The honest blocks end below the parent block.
  const found = createRevertReasons()(chain, reverted({ block: blockAt(2_000) }), never, 'client')
  expect(await found).toBe('unavailable')
  expect(calls('eth_call')).toEqual([])
})

describe('a revert without a reason', () => {
  const without = { trace: { output: '0x', error: 'execution reverted' } }
  test.each([
    ['used all but a 64th of its gas', 63_000n, OUT_OF_GAS],
    ['used less', 62_999n, { code: 'reverted_without_reason' }],
    ['used all of it', 64_000n, OUT_OF_GAS],
  ])('ran out of gas if it %s', async (_, gasUsed, expected) => {
    expect(await open(without).read(reverted({ gasUsed }))).toMatchObject({ reason: expected })
  })

  test('is not concluded from the gas when there is a reason', async () => {
    const { read } = open({ trace: { output: error('Past deadline'), error: 'execution reverted' } })
    expect(await read(reverted({ gasUsed: 64_000n }))).toMatchObject({ reason: { code: 'past_deadline' } })
  })
})

describe('a result', () => {
  test('that is known is kept for good, by chain, block and transaction', async () => {
    const { read, state, calls, reasonOf, chain } = open({ inBlock: failed('Pool closed') })
    await read()
    state.clock += 1e9
    await read()
    expect(calls('debug_traceTransaction')).toHaveLength(1)
    await read(reverted({ block: blockAt(991) }))
    await read(reverted({ hash: keccak256('0x02') }))
    await reasonOf({ ...chain, chainId: 56 }, reverted(), never, 'client')
    expect(calls('debug_traceTransaction')).toHaveLength(4)
  })

  test.each([
    [29_999, 1],
    [30_001, 2],
  ])('that no node knows is searched again after 30 s: after %i ms there were %i searches', async (ms, times) => {
    const { read, state, calls } = open({ inBlock: NO_TRACE, plain: NO_TRACE })
    expect(await read()).toBe('unavailable')
    state.clock += ms
    await read()
    expect(calls('debug_traceTransaction')).toHaveLength(times)
  })

  test('is pending after 6 s, and the search goes on for the next look-up', async () => {
    const { chain, calls, reasonOf } = open({ inBlock: failed('Pool closed') })
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const clients: string[] = []
    const slow: typeof chain = {
      ...chain,
      async runReplay(run, client) {
        clients.push(client)
        await gate
        return run()
      },
    }
    const waiting = reasonOf(slow, reverted(), never, 'client')
    expect(await outcomeAfter(5_999, waiting)).toBeUndefined()
    expect(await outcomeAfter(1, waiting)).toBe('pending')
    const next = reasonOf(slow, reverted(), never, 'other')
    release()
    expect(await next).toEqual(reason('Pool closed', false))
    expect(clients).toEqual(['client'])
    expect(calls('debug_traceTransaction')).toHaveLength(1)
  })

  test('is pending when too many searches wait, and searched again by the next look-up', async () => {
    const { chain, reasonOf } = open({ inBlock: failed('Pool closed') })
    const runReplay = () => Promise.reject(unavailable('too many'))
    expect(await reasonOf({ ...chain, runReplay }, reverted(), never, 'client')).toBe('pending')
    expect(await reasonOf(chain, reverted(), never, 'client')).toEqual(reason('Pool closed', false))
  })

  test('is an error when it is not expected, or when the client leaves', async () => {
    const { chain, reasonOf, read } = open({ trace: new TypeError('not expected') })
    await expect(read()).rejects.toThrow('not expected')
    const leaving = new AbortController()
    const runReplay = () => new Promise<never>(() => {})
    const left = reasonOf({ ...chain, runReplay }, reverted(), leaving.signal, 'client')
    leaving.abort(unavailable('the client disconnected'))
    await expect(left).rejects.toThrow('the client disconnected')
  })
})

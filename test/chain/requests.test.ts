import { type Hex, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { needsOf } from '../../src/chain/endpoints/endpoint.ts'
import { createLatency } from '../../src/chain/endpoints/latency.ts'
import { isLacking } from '../../src/chain/pool/lacking.ts'
import {
  isFailedCall,
  isRevert,
  NodeError,
  Preconfirmed,
  toServiceError,
  Undecodable,
} from '../../src/chain/rpc/errors.ts'
import { isNodeFault } from '../../src/chain/rpc/faults.ts'
import { collectOdd, type Odd } from '../../src/chain/rpc/odd.ts'
import { plainCall } from '../../src/chain/rpc/plain-call.ts'
import * as requests from '../../src/chain/rpc/requests.ts'
import {
  callSequence,
  codeOf,
  coinsOf,
  nextNonce,
  type Sequence,
  simulateBlock,
} from '../../src/chain/rpc/simulation.ts'
import * as transactions from '../../src/chain/rpc/transactions.ts'

/* The requests to nodes as they are sent, and what their answers are. */

const hash: Hex = `0x${'5f'.repeat(32)}`
const [from, to]: [Hex, Hex] = [`0x${'f1'.repeat(20)}`, `0x${'a1'.repeat(20)}`]
const tx = { from, to, data: '0x12' } as const

describe('a request is sent with its parameters:', () => {
  const filter = { address: to, fromBlock: 10n, toBlock: 20n } as const
  test.each<[requests.Request<unknown>, string, unknown[]]>([
    [requests.getLogs(filter), 'eth_getLogs', [{ address: to, fromBlock: '0xa', toBlock: '0x14' }]],
    [
      requests.getLogs({ ...filter, toBlock: 'latest' }),
      'eth_getLogs',
      [{ address: to, fromBlock: '0xa', toBlock: 'latest' }],
    ],
    [requests.getBlock('safe'), 'eth_getBlockByNumber', ['safe', false]],
    [requests.getBlock(255n), 'eth_getBlockByNumber', ['0xff', false]],
    [requests.getBlockByHash(hash), 'eth_getBlockByHash', [hash, false]],
    [requests.gasEstimate(tx), 'eth_estimateGas', [tx]],
    [requests.gasEstimate(tx, 255n), 'eth_estimateGas', [{ ...tx, gas: '0xff' }]],
    [plainCall(tx, hash, { isToken: true }), 'eth_call', [{ ...tx, gas: numberToHex(300_000n) }, { blockHash: hash }]],
    [
      plainCall(tx, hash, { isToken: false }),
      'eth_call',
      [{ ...tx, gas: numberToHex(3_000_000n) }, { blockHash: hash }],
    ],
    [transactions.getNonce(from, 'latest'), 'eth_getTransactionCount', [from, 'latest']],
    [transactions.getNonce(from, 255n), 'eth_getTransactionCount', [from, '0xff']],
    [nextNonce(from), 'eth_getTransactionCount', [from, 'pending']],
    [coinsOf(from, { blockHash: hash }), 'eth_getBalance', [from, { blockHash: hash }]],
    [codeOf(from, { blockHash: hash }), 'eth_getCode', [from, { blockHash: hash }]],
    [transactions.getBlockTransactions(255n), 'eth_getBlockByNumber', ['0xff', true]],
  ])('%#: $1', ({ method, params }, name, expected) => {
    expect([method, params]).toEqual([name, expected])
  })

  test('a block hash is sent without what else the caller has', () => {
    const block = { blockHash: hash, number: 7n }
    const call = { name: 'isPaused', data: '0x12', decode: (raw: Hex) => raw } as never
    expect(requests.viewCall(to, call, block).params[1]).toEqual({ blockHash: hash })
    expect(requests.viewCall(to, call, block).view).toEqual({ to, data: '0x12', blockHash: hash })
    expect(requests.viewCall(to, call, 'latest').view).toBeUndefined()
  })

  test('a view call at a block hash can be merged, and one at the latest block cannot', () => {
    const call = { name: 'isPaused', data: '0x12', decode: (raw: Hex) => raw } as never
    expect(requests.isView(requests.viewCall(to, call, { blockHash: hash }))).toBe(true)
    expect(requests.isView(requests.viewCall(to, call, 'latest'))).toBe(false)
  })

  test('a call as another block, and of an account that is created, has what it needs only', () => {
    const call = { from, to: null, value: 255n, gas: 16n, input: '0x12', authorizationList: null } as const
    const fields = { from, value: '0xff', gas: '0x10', data: '0x12' }
    expect(transactions.callAs(call, 'latest').params).toEqual([fields, 'latest'])
    const at = { blockHash: hash }
    const as = { number: 16n, timestamp: 255n }
    const listed = { ...call, to, authorizationList: [{ nonce: '0x1' }] }
    expect(transactions.callAs(listed, at, as).params).toEqual([
      ...[{ ...fields, to, authorizationList: [{ nonce: '0x1' }] }, at, {}, { number: '0x10', time: '0xff' }],
    ])
  })
})

describe('what a node may lack, and what it needs', () => {
  const refused = (message: string) => ({ ok: false, error: new NodeError({ code: -32_000, message }) }) as const
  const none = { ok: true, value: null } as const
  test.each([
    ['a block by number', requests.getBlock(7n), true],
    ['a transaction', transactions.getTransaction(hash), true],
    ['a whole receipt', transactions.getWholeReceipt(hash), true],
    ['the newest block', requests.getBlock('latest'), false],
    ['a block by hash', requests.getBlockByHash(hash), false],
    ['the receipt of a check', requests.getReceipt(hash), false],
  ])('null for %s: %s', (_, request, isMissing) => {
    expect(isLacking(request, none)).toBe(isMissing)
    expect(isLacking(request, { ok: true, value: 0 })).toBe(false)
    expect(isLacking(request, refused('header not found'))).toBe(true)
    expect(isLacking(request, refused('execution reverted'))).toBe(false)
  })

  test('a transaction that is refused for now may be taken by another node', () => {
    const send = requests.sendRaw('0x02')
    expect(isLacking(send, refused('txpool is full'))).toBe(true)
    expect(isLacking(send, refused('nonce too low'))).toBe(false)
    expect(send.parse('0xAB')).toBe('0xab')
  })

  test('a view that cannot be decoded may be damaged by the node, so another one is asked', () => {
    const refusing = () => {
      throw new TypeError('too few bytes')
    }
    const view = requests.viewCall(to, { name: 'isPaused', data: '0x12', decode: refusing }, 'latest')
    const errorOf = (raw: unknown): Error => {
      try {
        return expect.unreachable(String(view.parse(raw)))
      } catch (error) {
        return error as Error
      }
    }
    const error = errorOf('0x1234') as Undecodable
    expect(error).toBeInstanceOf(Undecodable)
    expect(error.message).toContain('isPaused() returned 2 bytes that are not its outputs')
    expect([isRevert(error), isFailedCall(error), isNodeFault(error.fault)]).toEqual([false, false, false])
    expect(toServiceError(error)).toMatchObject({ code: 'upstream_error', message: error.message })
    expect(isLacking(view, { ok: false, error })).toBe(true)
    // What is not hex is no answer of a view.
    for (const raw of [7, null, '1234', '0xzz', ['0x']]) expect(errorOf(raw)).not.toBeInstanceOf(NodeError)
  })

  test('is found in the requests, each once', () => {
    const call = { name: 'isPaused', data: '0x12', decode: (raw: Hex) => raw } as never
    const at = { blockHash: hash }
    const list = [
      ...[
        requests.getChainId(),
        requests.getBlock('safe'),
        requests.getBlock('finalized'),
        requests.getBlock('latest'),
      ],
      ...[requests.viewCall(to, call, at), requests.viewCall(to, call, 'latest'), transactions.traceFailure(hash)],
      requests.getLogs({ address: to, fromBlock: 1n, toBlock: 2n }),
    ]
    expect(needsOf(list)).toEqual(['tags', 'pinned', 'trace', 'logs'])
  })
})

describe('the answer about a block', () => {
  const block = { number: '0x7', hash, timestamp: '0x10', parentHash: hash }

  test('has quantities, in hex or as numbers', () => {
    const expected = { number: 7n, hash, timestamp: 16n }
    expect(requests.getBlock('latest').parse(block)).toEqual(expected)
    const odd = new Set<Odd>()
    const numbers = { ...block, number: 7, timestamp: 16 }
    expect(collectOdd(odd, () => requests.getBlock('latest').parse(numbers))).toEqual(expected)
    expect([...odd]).toEqual(['number'])
    expect(requests.getBlock(0n).parse({ ...block, number: 0 })).toMatchObject({ number: 0n })
    for (const number of [-1, 1.5, 2 ** 53, '7', null])
      expect(() => requests.getBlock('latest').parse({ ...block, number })).toThrow()
  })

  test('has a hash of 32 bytes', () => {
    for (const wrong of ['0x', '0x12', '0x123', `${hash}00`])
      for (const request of [requests.getBlock('latest'), requests.getBlockByHash(hash)])
        expect(() => request.parse({ ...block, hash: wrong })).toThrow('expected 32 bytes')
  })

  test('has a number and a time of at most 2^53 - 1', () => {
    const greatest = BigInt(Number.MAX_SAFE_INTEGER)
    for (const field of ['number', 'timestamp', 'blockNumber']) {
      const read: readonly requests.Request<unknown>[] =
        field === 'blockNumber'
          ? [requests.getReceipt(hash), transactions.getWholeReceipt(hash)]
          : [requests.getBlock('latest')]
      const mined = {
        transactionHash: hash,
        blockNumber: '0x1',
        blockHash: hash,
        status: '0x1',
        gasUsed: '0x1',
        logs: [],
      }
      for (const { parse } of read) {
        const parseWith = (value: bigint) => parse({ ...block, ...mined, [field]: numberToHex(value) })
        expect(parseWith(greatest)).toMatchObject({ [field]: greatest })
        for (const value of [greatest + 1n, 2n ** 63n - 1n]) expect(() => parseWith(value)).toThrow('at most 2^53 - 1')
      }
    }
  })

  test('without a hash is a missing block with its number, or null for a number', () => {
    const { parse } = requests.getBlock('latest')
    const errorOf = (raw: unknown): unknown => {
      try {
        return parse(raw)
      } catch (error) {
        return error
      }
    }
    const error = errorOf({ ...block, hash: null })
    expect(error).toBeInstanceOf(Preconfirmed)
    expect(error).toMatchObject({
      number: 7n,
      fault: { kind: 'missing' },
      message: 'the newest block has no hash yet: 7',
    })
    expect(isLacking(requests.getBlock('latest'), { ok: false, error: error as Preconfirmed })).toBe(true)
    expect(requests.getBlock(7n).parse({ ...block, hash: null })).toBeNull()
    expect(errorOf({ ...block, hash: undefined })).not.toBeInstanceOf(Preconfirmed)
    expect([parse(null), requests.getBlock(7n).parse(null)]).toEqual([null, null])
  })
})

describe('the answer about a transaction', () => {
  const receipt = (fields: object = {}) => ({
    ...{ transactionHash: hash, blockNumber: '0x7', blockHash: hash, status: '0x1', gasUsed: '0x5208', logs: [] },
    ...fields,
  })
  const parse = (fields: object = {}) => transactions.getWholeReceipt(hash).parse(receipt(fields))

  test('has its status and its costs', () => {
    const none = { effectiveGasPrice: null, l1Fee: null, operatorFee: null, isReverted: false }
    expect(parse()).toMatchObject({ blockNumber: 7n, gasUsed: 21_000n, ...none })
    expect(parse({ status: '0x0', effectiveGasPrice: '0x5', l1Fee: '0x6' })).toMatchObject({
      ...{ isReverted: true, effectiveGasPrice: 5n, l1Fee: 6n, operatorFee: null },
    })
  })

  test('has the operator fee of the OP stack, before and after its scale changed', () => {
    const scalar = { operatorFeeScalar: '0x7a120', operatorFeeConstant: '0x3' }
    // 21,000 gas by 500,000, in millionths or in hundreds, and the constant.
    expect(parse(scalar)?.operatorFee).toBe(10_503n)
    expect(parse({ ...scalar, daFootprintGasScalar: '0x1' })?.operatorFee).toBe(21_000n * 500_000n * 100n + 3n)
    expect(parse({ operatorFeeConstant: '0x3' })?.operatorFee).toBe(3n)
    expect(parse({ operatorFeeScalar: '0x7a120' })?.operatorFee).toBe(10_500n)
  })

  test('of another transaction is rejected, in any request', () => {
    const other = `0x${'5e'.repeat(32)}` as const
    const upper = hash.toUpperCase().replace('0X', '0x')
    expect(parse({ transactionHash: upper })).not.toBeNull()
    for (const request of [transactions.getWholeReceipt(other), requests.getReceipt(other)])
      expect(() => request.parse(receipt())).toThrow(`expected transaction ${other}`)
    const sent = { hash, from, nonce: '0x1', value: '0x0', gas: '0x1', input: '0x' }
    expect(transactions.getTransaction(hash).parse(sent)).toMatchObject({ to: null, nonce: 1n })
    expect(() => transactions.getTransaction(other).parse(sent)).toThrow(`expected transaction ${other}`)
    expect(transactions.getTransaction(hash).parse(null)).toBeNull()
  })

  test('by a trace is its failure, or none', () => {
    const { parse: failureOf } = transactions.traceFailure(hash)
    expect(failureOf({ output: '0x12', error: 'execution reverted' })).toEqual({
      data: '0x12',
      message: 'execution reverted',
    })
    expect([failureOf({ error: 'out of gas' }), failureOf({ output: '0x' }), failureOf(null)]).toEqual([
      ...[{ data: null, message: 'out of gas' }, null, null],
    ])
  })
})

describe('a sequence of calls', () => {
  const calls = [
    { to, data: '0x0001' },
    { to: from, data: '0x' },
    { to, data: '0xff' },
  ] as const
  const sequence: Sequence = { from, calls, blockHash: hash, time: 16n, overrides: { [to]: { [hash]: '0x01' } } }

  test('by eth_simulateV1 has its time, its state and the gas of each call', () => {
    const gasOf = ({ to: of }: { to: Hex }): bigint => (of === to ? 255n : 16n)
    expect(simulateBlock(sequence, gasOf).params).toEqual([
      {
        blockStateCalls: [
          {
            blockOverrides: { time: '0x10' },
            stateOverrides: { [to]: { stateDiff: { [hash]: '0x01' } } },
            calls: calls.map((call) => ({ from, gas: call.to === to ? '0xff' : '0x10', ...call })),
          },
        ],
      },
      { blockHash: hash },
    ])
  })

  test('by eth_call runs at the sender, with the same state and time', () => {
    const { params } = callSequence(sequence, () => 255n)
    expect(params[0]).toMatchObject({ from, to: from })
    expect(params.slice(1)).toEqual([
      { blockHash: hash },
      { [to]: { stateDiff: { [hash]: '0x01' } }, [from]: { code: expect.stringMatching(/^0x/) } },
      { time: '0x10' },
    ])
  })
})

describe('the usual time of an endpoint', () => {
  const waitAfter = (...times: readonly number[]): number => {
    const latency = createLatency()
    for (const ms of times) latency.record(ms)
    return latency.waitMs()
  }
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

  test('is that of the slowest in twenty, from 25 to 250 ms, once there are twenty', () => {
    expect(waitAfter()).toBe(250)
    expect(waitAfter(...range(101, 119))).toBe(250)
    expect(waitAfter(...range(101, 120))).toBe(119)
    expect(waitAfter(...range(1, 20))).toBe(25)
    expect(waitAfter(...range(400, 420))).toBe(250)
    expect(waitAfter(...range(101, 200))).toBe(195)
  })

  test('forgets all but the last hundred, and is counted again after each', () => {
    expect(waitAfter(...range(1, 100).map(() => 200), ...range(1, 100).map(() => 30))).toBe(30)
    const latency = createLatency()
    for (const ms of range(101, 120)) latency.record(ms)
    expect(latency.waitMs()).toBe(119)
    for (let times = 0; times < 20; times += 1) latency.record(240)
    expect(latency.waitMs()).toBe(240)
  })
})

import fc from 'fast-check'
import { type Hex, numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { parseLogList, parseLogs } from '../../src/chain/rpc/log-shape.ts'
import { collectOdd, type Odd } from '../../src/chain/rpc/odd.ts'

const word = `0x${'ab'.repeat(32)}`
const good = {
  address: `0x${'cd'.repeat(20)}`,
  topics: [word, word],
  data: '0x00ff',
  blockNumber: '0x10',
  blockHash: `0x${'b1'.repeat(32)}`,
  blockTimestamp: '0x65',
  transactionHash: `0x${'b2'.repeat(32)}`,
  transactionIndex: '0x0',
  logIndex: '0x2',
  removed: false,
}

test('quantities of a log become numbers, bytes stay unchanged, and unused fields are left out', () => {
  const { address, topics, data, blockHash, transactionHash } = good
  expect(parseLogs([good])).toEqual([
    { address, topics, data, blockHash, transactionHash, blockNumber: 16n, blockTimestamp: 101n, logIndex: 2 },
  ])
  expect(parseLogs([])).toEqual([])
})

test('the block timestamp of a log is null if the node does not return it', () => {
  const { blockTimestamp: _, ...bare } = good
  for (const log of [bare, { ...good, blockTimestamp: null }, { ...good, blockTimestamp: true }]) {
    expect(parseLogs([log])[0]?.blockTimestamp).toBeNull()
  }
})

test('each log has its own block, independent of the logs around it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.bigInt(0n, 5n), fc.bigInt(0n, 5n), fc.nat())), (all) => {
      const logs = all.map(([number, timestamp, index], at) => ({
        ...good,
        blockHash: numberToHex(at, { size: 32 }),
        blockNumber: numberToHex(number),
        blockTimestamp: numberToHex(timestamp),
        logIndex: numberToHex(index),
      }))
      const parsed = parseLogs(logs)
      expect(parsed.map((log) => [log.blockNumber, log.blockTimestamp, log.logIndex])).toEqual(all)
    }),
  )
})

describe('parsing rejects', () => {
  const garbage: readonly unknown[] = [
    null,
    undefined,
    -1,
    1.5,
    2 ** 53,
    '',
    'ab',
    '0xzz',
    '0x1g',
    {},
    [],
    '0x 1',
    `${word}00`,
    '0xabc\n',
  ]
  const fields = ['address', 'topics', 'data', 'blockNumber', 'blockHash', 'transactionHash', 'logIndex'] as const
  test.each(fields)('a log without a valid %s', (field) => {
    const { [field]: _, ...without } = good
    expect(() => parseLogs([good, without])).toThrow(field)
    for (const value of garbage) {
      const mayBe =
        (field === 'topics' && Array.isArray(value)) ||
        (field === 'data' && value === `${word}00`) ||
        (field === 'blockHash' && value === null)
      if (!mayBe) expect(() => parseLogs([{ ...good, [field]: value }]), String(value)).toThrow(TypeError)
    }
  })

  test.each([null, undefined, {}, 'logs', 7, [null], ['0x'], [[good]], { 0: good, length: 1 }])(
    '%j in place of logs',
    (raw) => {
      expect(() => parseLogs(raw)).toThrow(TypeError)
    },
  )

  test('a topic that is not 32 bytes long, and a fifth topic', () => {
    expect(() => parseLogs([{ ...good, topics: [word, '0x01'] }])).toThrow(TypeError)
    expect(() => parseLogs([{ ...good, topics: [word, word, word, word, word] }])).toThrow(TypeError)
  })

  test('bytes of another length, and a quantity without a digit or with more than 64', () => {
    const changes = {
      address: [`0x${'cd'.repeat(19)}`, `0x${'cd'.repeat(21)}`],
      blockHash: [`${word}00`, word.slice(0, -2)],
      transactionHash: [`${word}00`, word.slice(0, -2)],
      data: ['0x1'],
      ...Object.fromEntries(
        ['blockNumber', 'blockTimestamp', 'logIndex'].map((name) => [name, ['0x', `0x${'0'.repeat(65)}`]]),
      ),
    }
    for (const [name, values] of Object.entries(changes))
      for (const value of values) expect(() => parseLogs([{ ...good, [name]: value }]), name).toThrow(name)
  })
})

describe('odd forms of logs are understood:', () => {
  const word32 = (nth: number): Hex => numberToHex(nth, { size: 32 })
  const at = (logIndex: number, changes: object = {}) => ({ ...good, logIndex: numberToHex(logIndex), ...changes })
  /** The indexes of the logs that are left, and what is noted. */
  const read = (parse: typeof parseLogs, ...logs: readonly object[]) => {
    const odd = new Set<Odd>()
    const parsed = collectOdd(odd, () => parse(logs))
    return [parsed.map(({ logIndex }) => logIndex), [...odd]]
  }

  test('numbers in place of quantities', () => {
    const odd = new Set<Odd>()
    const numbers = { blockNumber: 16, blockTimestamp: 101, logIndex: 2 }
    expect(collectOdd(odd, () => parseLogs([{ ...good, ...numbers }]))).toEqual(parseLogs([good]))
    expect([...odd]).toEqual(['number'])
    expect(parseLogs([{ ...good, blockNumber: 0, blockTimestamp: 0, logIndex: 0 }])).toMatchObject([
      { blockNumber: 0n, blockTimestamp: 0n, logIndex: 0 },
    ])
    expect(read(parseLogs, good)).toEqual([[2], []])
  })

  test('a log that a reorg removed is left out', () => {
    expect(read(parseLogs, at(1), at(2, { removed: true }), at(3, { removed: 'no' }))).toEqual([[1, 3], ['removed']])
    expect(read(parseLogs, { removed: true })).toEqual([[], ['removed']])
  })

  test('a log that is in no block yet is left out', () => {
    const pending = { blockHash: null, blockNumber: null, transactionHash: null }
    expect(read(parseLogs, at(1), at(2, pending), at(3))).toEqual([[1, 3], ['pending']])
    expect(() => parseLogs([{ ...good, blockNumber: null }])).toThrow('blockNumber')
  })

  test('a log of the same block, transaction and index is left out, wherever it is', () => {
    const other = { blockHash: word32(9), blockNumber: '0x11' }
    expect(read(parseLogs, at(1), at(1), at(2))).toEqual([[1, 2], ['doubled']])
    expect(read(parseLogs, at(1), at(2), at(1), at(2))).toEqual([[1, 2], ['doubled']])
    expect(read(parseLogs, at(1), at(1, other), at(1))).toEqual([[1, 1], ['doubled']])
    expect(read(parseLogs, at(1), at(1, other))).toEqual([[1, 1], []])
    // Some nodes count the logs of each transaction, or do not sort.
    expect(read(parseLogs, at(1), at(1, { transactionHash: word32(8) }))).toEqual([[1, 1], []])
    expect(read(parseLogs, at(1), at(1, { data: '0x01' }))).toEqual([[1, 1], []])
    expect(read(parseLogs, at(2), at(1))).toEqual([[2, 1], []])
  })

  test('a list in which each log appears twice, at two indexes, is halved; any other list is not', () => {
    const second = { data: '0x01' }
    const other = { blockHash: word32(9), blockNumber: '0x11' }
    const twice = [at(1), at(2), at(3, second), at(4, second), at(0, other), at(1, other)]
    expect(read(parseLogList, ...twice)).toEqual([[1, 3, 0], ['doubled']])
    expect(read(parseLogList, at(0), at(1, second), at(2), at(3, second))).toEqual([[0, 1], ['doubled']])
    expect(read(parseLogList, at(5), at(4))).toEqual([[4], ['doubled']])
    for (const part of ['blockHash', 'transactionHash', 'data'] as const)
      expect(read(parseLogList, at(1), at(2, { [part]: word32(7) }))).toEqual([[1, 2], []])
    expect(read(parseLogList, at(1), at(2, { topics: [word] }))).toEqual([[1, 2], []])
    // One log more, one that has no twin, and three of one.
    expect(read(parseLogList, ...twice, at(2, other))).toEqual([[1, 2, 3, 4, 0, 1, 2], []])
    expect(read(parseLogList, at(1), at(2), at(3, second), at(4, other))).toEqual([[1, 2, 3, 4], []])
    expect(read(parseLogList, at(1), at(2), ...[3, 4, 5, 6].map((index) => at(index, second)))[1]).toEqual([])
    expect(read(parseLogList)).toEqual([[], []])
    // The logs of a receipt may be equal.
    expect(read(parseLogs, at(1), at(2))).toEqual([[1, 2], []])
  })
})

test('what is just as long or as short as allowed is parsed', () => {
  const topics = [word, word, word, word]
  const long = `0x${'0'.repeat(64)}`
  const quantities = { blockNumber: long, blockTimestamp: long, logIndex: long }
  expect(parseLogs([{ ...good, topics, ...quantities, data: '0x' }])).toMatchObject([
    { topics, data: '0x', blockNumber: 0n, blockTimestamp: 0n, logIndex: 0 },
  ])
  expect(parseLogs([{ ...good, topics: [], data: '0xABCD' }])).toMatchObject([{ topics: [], data: '0xABCD' }])
})

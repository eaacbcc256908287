import fc from 'fast-check'
import { numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { parseLogs } from '../../src/chain/rpc/log-shape.ts'

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
  for (const log of [bare, { ...good, blockTimestamp: null }, { ...good, blockTimestamp: 101 }]) {
    expect(parseLogs([log])[0]?.blockTimestamp).toBeNull()
  }
})

test('each log has its own block, independent of the logs around it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.bigInt(0n, 5n), fc.bigInt(0n, 5n), fc.nat())), (all) => {
      const logs = all.map(([number, timestamp, index]) => ({
        ...good,
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
    1,
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
      const mayBe = (field === 'topics' && Array.isArray(value)) || (field === 'data' && value === `${word}00`)
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

test('what is just as long or as short as allowed is parsed', () => {
  const topics = [word, word, word, word]
  const long = `0x${'0'.repeat(64)}`
  const quantities = { blockNumber: long, blockTimestamp: long, logIndex: long }
  expect(parseLogs([{ ...good, topics, ...quantities, data: '0x' }])).toMatchObject([
    { topics, data: '0x', blockNumber: 0n, blockTimestamp: 0n, logIndex: 0 },
  ])
  expect(parseLogs([{ ...good, topics: [], data: '0xABCD' }])).toMatchObject([{ topics: [], data: '0xABCD' }])
})

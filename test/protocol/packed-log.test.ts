import { expect, test } from 'vitest'
import { firstTopicOf, PackedLog, topicWordsOf } from '../../src/protocol/abi/packed-log.ts'

const address = `0x${'1'.repeat(40)}` as const
const shared = { address, blockNumber: 7n, blockHash: '0xb1', blockTimestamp: 9n, logIndex: 3 } as const
const word = (value: bigint): string => value.toString(16).padStart(64, '0')

/** A log with these words after some other bytes: transaction hash, two topics after the first, and data. */
const packed = (topics: readonly string[], data: string): PackedLog => {
  const hash = '7f'.repeat(32)
  const bytes = Buffer.from(`ffff${hash}${topics.join('')}${data}ee`, 'hex')
  const topicsAt = 2 + 32
  const dataAt = topicsAt + topics.length * 32
  return new PackedLog(shared, bytes, {
    ...{ firstTopic: '0xf1', topicsAt, topicCount: 1 + topics.length },
    ...{ dataAt, dataLength: data.length / 2, txHashAt: 2 },
  })
}

test('a packed log has the properties of a log', () => {
  const log = packed([word(5n), word(6n)], `${word(8n)}${word(9n)}ab`)
  expect({ ...shared, topics: log.topics, data: log.data, transactionHash: log.transactionHash }).toEqual({
    ...{ ...shared, topics: ['0xf1', `0x${word(5n)}`, `0x${word(6n)}`], data: `0x${word(8n)}${word(9n)}ab` },
    transactionHash: `0x${'7f'.repeat(32)}`,
  })
  expect(log).toMatchObject(shared)
  expect([log.uint(true, 1), log.uint(true, 2), log.uint(false, 0), log.uint(false, 1)]).toEqual([5n, 6n, 8n, 9n])
})

test.each([
  [[], '0xf1'],
  [[word(5n)], `0xf1${word(5n)}`],
  [[word(5n), word(6n)], `0xf1${word(5n)}${word(6n)}`],
])('the words of the topics follow each other, packed or not: %#', (topics, words) => {
  const log = packed(topics, word(8n))
  expect([firstTopicOf(log), topicWordsOf(log)]).toEqual(['0xf1', words])
  expect([firstTopicOf({ topics: log.topics }), topicWordsOf({ topics: log.topics })]).toEqual(['0xf1', words])
})

test('a log without topics has no first one and no words', () => {
  expect([firstTopicOf({ topics: [] }), topicWordsOf({ topics: [] })]).toEqual([undefined, '0x'])
})

test('a packed log has a topic up to its last one, and only whole words of its data', () => {
  const log = packed([word(5n), word(6n)], `${word(8n)}${word(9n)}ab`)
  expect([1, 2, 3].map((at) => log.has(true, at))).toEqual([true, true, false])
  expect([0, 1, 2].map((at) => log.has(false, at))).toEqual([true, true, false])
  expect([packed([], '').has(false, 0), packed([], word(8n)).has(false, 0)]).toEqual([false, true])
})

test.each([
  0n,
  1n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 64n,
  2n ** 64n + 1n,
  2n ** 255n,
  2n ** 256n - 1n,
])('the integer %i is read from a topic and from the data', (value) => {
  const log = packed([word(value)], word(value))
  expect([log.uint(true, 1), log.uint(false, 0)]).toEqual([value, value])
})

test('an address is the last 20 bytes of its word', () => {
  const log = packed([`${'00'.repeat(12)}${'ab'.repeat(20)}`], `${word(1n)}${'ff'.repeat(12)}${'cd'.repeat(20)}`)
  expect([log.addressIn(true, 1), log.addressIn(false, 1)]).toEqual([`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`])
})

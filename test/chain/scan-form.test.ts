import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { parseLogs } from '../../src/chain/rpc/log-shape.ts'
import { extractLogs } from '../../src/chain/rpc/scan-logs.ts'
import { PackedLog, type RawLog } from '../../src/protocol/abi/packed-log.ts'

/* Which forms of logs the scan reads, and which it leaves to `JSON.parse`. */

const word = (byte: string): Hex => `0x${byte.repeat(32)}`
const log = {
  address: `0x${'a1'.repeat(20)}`,
  topics: [word('b1'), word('b2'), word('b3')],
  data: '0x01fe23dc',
  blockNumber: '0x10',
  blockHash: word('c1'),
  blockTimestamp: '0x65',
  transactionHash: word('d1'),
  logIndex: '0x2',
  removed: false,
}

const fieldsOf = (each: RawLog): RawLog => {
  const { address, topics, data, blockNumber, blockHash, blockTimestamp, transactionHash, logIndex } = each
  return { address, topics, data, blockNumber, blockHash, blockTimestamp, transactionHash, logIndex }
}

const listOf = (...logs: readonly object[]): string => JSON.stringify([{ id: 0, result: logs }])

/** What the scan reads of an answer; null for one that it leaves to `JSON.parse`. */
const scan = (text: string): readonly RawLog[] | null => {
  const extracted = extractLogs(Buffer.from(text))
  if (extracted === null) return null
  const [answer] = extracted.restore(JSON.parse(extracted.rest.toString())) as [{ readonly result: unknown }]
  const logs = parseLogs(answer.result)
  expect(logs.every((each) => each instanceof PackedLog)).toBe(true)
  return logs.map(fieldsOf)
}

/** The logs of an answer as `JSON.parse` reads them. */
const parsed = (text: string): readonly RawLog[] => {
  const [answer] = JSON.parse(text) as [{ readonly result: unknown }]
  return parseLogs(answer.result).map(fieldsOf)
}

const { blockTimestamp: _, ...bare } = log

describe('the scan reads the same as the parse:', () => {
  test.each<[string, readonly object[]]>([
    ['a log', [log]],
    ['a log with one topic', [{ ...log, topics: [word('b1')] }]],
    ['a log with four topics', [{ ...log, topics: ['b1', 'b2', 'b3', 'b4'].map(word) }]],
    ['no data', [{ ...log, data: '0x' }]],
    ['all digits', [{ ...log, data: '0x0123456789abcdef' }]],
    ['data longer than the rest', [{ ...log, data: `0x${'0f'.repeat(900)}` }]],
    ['no timestamp', [bare]],
    ['null as its timestamp', [{ ...log, blockTimestamp: null }]],
    ['quantities of one digit', [{ ...log, blockNumber: '0x0', blockTimestamp: '0x0', logIndex: '0x0' }]],
    ['a quantity of 64 digits', [{ ...log, blockNumber: `0x${'f'.repeat(64)}` }]],
    ['keys as long as others', [{ ...log, toXics: null, date: 'x', hash: '0x', blockStuff: '~ ' }]],
    ['a key of no known length', [{ ...log, k: '', 'a very long key that no node adds': false }]],
    ['keys in another order', [Object.fromEntries(Object.entries(log).toReversed())]],
    [
      'what neighbours share, and what they do not',
      [
        log,
        { ...log, logIndex: '0x3' },
        { ...log, blockNumber: '0x1', blockTimestamp: '0x651', logIndex: '0x20', data: '0x' },
        { ...log, blockNumber: '0x100', address: `0x${'a2'.repeat(20)}`, blockHash: word('c2') },
        { ...log, topics: [word('b2')], transactionHash: word('d2'), blockTimestamp: null },
        { ...log, blockNumber: '0x10' },
      ],
    ],
  ])('%s', (_, logs) => {
    const text = listOf(...logs)
    expect(scan(text)).toEqual(parsed(text))
  })
})

describe('the scan leaves to the parse', () => {
  const without = Object.keys(log)
    .filter((key) => key !== 'removed' && key !== 'blockTimestamp')
    .map((key): [string, object] => [
      `a log without its ${key}`,
      Object.fromEntries(Object.entries(log).filter(([name]) => name !== key)),
    ])
  test.each<[string, object]>([
    ...without,
    ['no topic', { ...log, topics: [] }],
    ['five topics', { ...log, topics: ['b1', 'b2', 'b3', 'b4', 'b5'].map(word) }],
    ['a first topic that is too short', { ...log, topics: ['0xb1'] }],
    ['a first topic that is too long', { ...log, topics: [`${word('b1')}00`] }],
    ['a second topic that is too short', { ...log, topics: [word('b1'), `0x${'b2'.repeat(31)}`] }],
    ['a second topic that is too long', { ...log, topics: [word('b1'), `${word('b2')}00`] }],
    ['an address of 19 bytes', { ...log, address: `0x${'a1'.repeat(19)}` }],
    ['an address of 21 bytes', { ...log, address: `0x${'a1'.repeat(21)}` }],
    ['half a byte more in an address', { ...log, address: `0x${'a1'.repeat(20)}0` }],
    ['a block hash of 31 bytes', { ...log, blockHash: `0x${'c1'.repeat(31)}` }],
    ['a block hash of 33 bytes', { ...log, blockHash: `${word('c1')}00` }],
    ['a hash of a transaction of 31 bytes', { ...log, transactionHash: `0x${'d1'.repeat(31)}` }],
    ['a hash of a transaction of 33 bytes', { ...log, transactionHash: `${word('d1')}00` }],
    ['a quantity without a digit', { ...log, blockNumber: '0x' }],
    ['a quantity of 65 digits', { ...log, blockNumber: `0x${'1'.repeat(65)}` }],
    ['a quantity in decimals', { ...log, logIndex: '12' }],
    ['a quantity with another prefix', { ...log, logIndex: '0y2' }],
    ['a quantity with another first digit', { ...log, logIndex: '1x2' }],
    ['a number', { ...log, blockNumber: 16 }],
    ['half a byte of data', { ...log, data: '0x123' }],
    ['data without its prefix', { ...log, data: '0123' }],
    ['data in upper case', { ...log, data: '0xAB' }],
    ['a hash in upper case', { ...log, blockHash: word('C1') }],
    ['a log that a reorg removed', { ...log, removed: true }],
    ['a number for its index', { ...log, logIndex: 2 }],
    ['another timestamp', { ...log, blockTimestamp: true }],
    ['an escape', { ...log, more: '"' }],
    ['a byte beyond ASCII', { ...log, more: 'é' }],
    ['a list under another key', { ...log, more: [] }],
    ['a number under another key', { ...log, more: 1 }],
  ])('%s', (_, each) => {
    expect(scan(listOf(log, each))).toBeNull()
    expect(scan(listOf(each))).toBeNull()
  })

  const text = listOf(log)
  test.each<[string, string, string]>([
    ['a space between elements', '},"x', '}, "x'],
    ['a space after a colon', '"data":', '"data": '],
    ['a control character in a key', '"removed"', '"remove\u001f"'],
    ['a quantity that does not close', '"0x10"', '"0x10 '],
    ['another byte in place of a closing quote', '"0x10",', '"0x10x,'],
    ['another byte in place of a colon', '"logIndex":', '"logIndex";'],
    ['another byte in place of a comma', '"0x10",', '"0x10";'],
    ['another literal', 'false', 'falsy'],
    ['another end of an object', 'false}', 'false]'],
    ['another end of a list of topics', `${word('b3')}"]`, `${word('b3')}"}`],
    ['another end of the logs', 'false}]', 'false}}'],
    ['a log that is no object', '[{"address"', '[["address"'],
    ['a comma before the end', 'false}]', 'false},]'],
    ['topics that are no list', '"topics":[', '"topics":{'],
  ])('%s', (_, from, to) => {
    const changed = from === '},"x' ? listOf(log, log).replace('},{', '}, {') : text.replace(from, to)
    expect(changed).not.toBe(text)
    expect(scan(changed)).toBeNull()
  })

  test('an answer that ends within its logs, wherever that is', () => {
    const whole = text.indexOf(']', text.indexOf('removed')) + 1
    for (let end = 0; end < whole; end += 1) expect(scan(text.slice(0, end)), text.slice(0, end)).toBeNull()
  })

  test.each([
    ['no logs', '[{"id":0,"result":[]}]'],
    ['another list', '[{"id":0,"result":[1]}]'],
    ['an error', '[{"id":0,"error":{"code":1,"message":"no"}}]'],
  ])('an answer with %s', (_, other) => {
    expect(extractLogs(Buffer.from(other))).toBeNull()
  })
})

describe('the logs take the place of the result', () => {
  const restored = (text: string): unknown => {
    const extracted = extractLogs(Buffer.from(text))
    return extracted?.restore(JSON.parse(extracted.rest.toString()))
  }
  const found = { result: { logs: [{ logIndex: 2 }] } }

  test('of an answer that is not the first', () => {
    const text = JSON.stringify([null, { id: 0, result: '0x1' }, { id: 1, result: [log] }, { id: 2, result: null }])
    expect(restored(text)).toMatchObject([null, { id: 0, result: '0x1' }, { id: 1, ...found }, { id: 2, result: null }])
  })
  test('of the only answer, without a list around it', () => {
    expect(restored(JSON.stringify({ id: 0, result: [log], more: 7 }))).toMatchObject({ id: 0, ...found, more: 7 })
  })
  test('of the first of two answers with logs', () => {
    const text = JSON.stringify([
      { id: 0, result: [log] },
      { id: 1, result: [log] },
    ])
    expect(restored(text)).toMatchObject([
      { id: 0, ...found },
      { id: 1, result: [log] },
    ])
  })
  test('only where they are one', () => {
    expect(restored(JSON.stringify([{ id: 0, result: null, more: { result: [log] } }]))).toBeUndefined()
  })
})

test('each list, object and further element of the logs counts as a value', () => {
  const values = (...logs: readonly object[]) => extractLogs(Buffer.from(listOf(...logs)))?.values
  // The list, the object and the topics open; eight commas between nine keys and two between topics.
  expect(values(log)).toBe(3 + 8 + 2)
  expect(values(log, log)).toBe(2 * 13)
  expect(values({ ...log, topics: [word('b1')] })).toBe(3 + 8)
})

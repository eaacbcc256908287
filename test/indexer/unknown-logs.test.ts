import { type Hex, numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { hintsOf } from '../../src/indexer/reading/unknown-logs.ts'

const word = (value: number): Hex => numberToHex(value, { size: 32 })
const dataOf = (...values: readonly number[]): Hex => `0x${values.map((value) => word(value).slice(2)).join('')}`

const log = (topics: readonly number[], data: Hex) => ({
  ...({ address: '0xd1', topics: [word(1), ...topics.map(word)], data, logIndex: 4 } as const),
  ...({ blockNumber: 10n, blockHash: '0xb1', blockTimestamp: 20n, transactionHash: '0xc1' } as const),
})
const origin = {
  ...{ kind: 'hint', blockNumber: 10n, blockHash: '0xb1', blockTimestamp: 20n, txHash: '0xc1', logIndex: 4 },
}
const last = { event: 2n, deposit: null, position: 5n }

/** The entities that a log names. */
const named = (topics: readonly number[], data: Hex, ids: Parameters<typeof hintsOf>[1] = last) =>
  hintsOf(log(topics, data), ids).flatMap((hint) => ('id' in hint ? `${hint.subject} ${hint.id}` : []))

test('an unknown log may have changed the state of the protocol, and what its words can name', () => {
  expect(hintsOf(log([2], dataOf(9)), last)).toEqual([
    { ...origin, subject: 'chain' },
    { ...origin, subject: 'event', id: 2n, members: ['deposit', 'position'], settles: false },
    { ...origin, subject: 'position', id: 2n },
  ])
})

test('its words are the topics after the first and the whole words of its data, each once', () => {
  expect(named([], '0x')).toEqual([])
  expect(named([5], `${dataOf(4, 5, 4)}${'0'.repeat(62)}`)).toEqual(['position 5', 'position 4'])
})

test('an id is one up to the last of its kind, also 0', () => {
  expect(named([0, 5, 6], '0x')).toEqual(['event 0', 'position 0', 'position 5'])
  expect(named([0, 1], '0x', { event: null, deposit: 0n, position: null })).toEqual(['deposit 0'])
})

test('of its data the first 16 words count', () => {
  const nines = Array<number>(15).fill(9)
  expect(named([], dataOf(...nines, 4, 5))).toEqual(['position 4'])
})

import { expect, test } from 'vitest'
import { absentWith, beforeFirst, firstHole, RowTwice } from '../../src/indexer/dense.ts'
import type { Fact } from '../../src/protocol/logs.ts'

const hash = `0x${'11'.repeat(32)}` as const
const deposits = (...ids: readonly bigint[]): Fact[] =>
  ids.map((id) => ({
    kind: 'deposit',
    ...{ id, eventId: 1n, lp: `0x${'22'.repeat(20)}`, amount: 1n, shares: 1n },
    ...{ blockNumber: id, blockHash: hash, blockTimestamp: id, txHash: hash, logIndex: 0 },
  }))
const none = { event: null, deposit: null, position: null }

test('ids that follow the last ones leave no hole, in whatever order they were found', () => {
  expect(firstHole({ ...none, deposit: 4n }, deposits(7n, 5n, 6n))).toBeUndefined()
  expect(firstHole({ ...none, deposit: 4n }, deposits(5n, 8n, 7n))).toEqual({ kind: 'deposit', id: 6n })
  expect(firstHole({ ...none, deposit: 4n }, deposits(6n))).toEqual({ kind: 'deposit', id: 5n })
})

test('an id that nobody can have reached is a hole from the next one on, and costs no more than another', () => {
  expect(firstHole({ ...none, deposit: 4n }, deposits(2n ** 256n - 1n))).toEqual({ kind: 'deposit', id: 5n })
})

test('an id that the index holds is of another chain', () => {
  expect(() => firstHole({ ...none, deposit: 4n }, deposits(4n, 5n))).toThrow(RowTwice)
})

test('whether there is an id 0 is asked when the first ids are found, in whatever order', () => {
  for (const ids of [deposits(1n, 2n), deposits(3n, 1n, 2n)]) {
    expect(beforeFirst(none, ids)).toEqual([{ kind: 'deposit', id: 0n }])
    expect(absentWith(none, ids)).toContainEqual({ kind: 'deposit', id: 0n })
  }
  expect(beforeFirst(none, deposits(2n, 0n, 1n))).toEqual([])
  expect(beforeFirst({ ...none, deposit: 0n }, deposits(1n))).toEqual([])
})

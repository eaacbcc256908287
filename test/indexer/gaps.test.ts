import { expect, test } from 'vitest'
import type { DatedFact } from '../../src/db/index/write.ts'
import { absentWith, beforeFirst, DuplicateRow, findGap } from '../../src/indexer/reading/gaps.ts'

const hash = `0x${'11'.repeat(32)}` as const
const deposits = (...ids: readonly bigint[]): DatedFact[] =>
  ids.map((id) => ({
    kind: 'deposit',
    ...{ id, eventId: 1n, lp: `0x${'22'.repeat(20)}`, amount: 1n, shares: 1n },
    ...{ blockNumber: id, blockHash: hash, blockTimestamp: id, txHash: hash, logIndex: 0 },
  }))
const none = { event: null, deposit: null, position: null }

test('ids that follow the last ones leave no gap, in any order', () => {
  expect(findGap({ ...none, deposit: 4n }, deposits(7n, 5n, 6n))).toBeUndefined()
  expect(findGap({ ...none, deposit: 4n }, deposits(5n, 8n, 7n))).toEqual({ kind: 'deposit', id: 6n })
  expect(findGap({ ...none, deposit: 4n }, deposits(6n))).toEqual({ kind: 'deposit', id: 5n })
})

test('a very large id is a gap after the last id, and costs no more than a small gap', () => {
  expect(findGap({ ...none, deposit: 4n }, deposits(2n ** 256n - 1n))).toEqual({ kind: 'deposit', id: 5n })
})

test('an id that the index already has is an error, because it belongs to another chain', () => {
  expect(() => findGap({ ...none, deposit: 4n }, deposits(4n, 5n))).toThrow(DuplicateRow)
})

test('id 0 is checked when the first ids are found, in any order', () => {
  for (const ids of [deposits(1n, 2n), deposits(3n, 1n, 2n)]) {
    expect(beforeFirst(none, ids)).toEqual([{ kind: 'deposit', id: 0n }])
    expect(absentWith(none, ids)).toContainEqual({ kind: 'deposit', id: 0n })
  }
  expect(beforeFirst(none, deposits(2n, 0n, 1n))).toEqual([])
  expect(beforeFirst({ ...none, deposit: 0n }, deposits(1n))).toEqual([])
})

test('of several gaps the first one is named, of the lowest id and of the kind that comes first', () => {
  expect(findGap({ ...none, deposit: 4n }, deposits(6n, 9n))).toEqual({ kind: 'deposit', id: 5n })
  const events = deposits(3n).map((fact) => ({ ...fact, kind: 'event' }) as DatedFact)
  expect(findGap(none, [...deposits(3n), ...events])).toEqual({ kind: 'event', id: 1n })
})

test('first ids may begin at 0 or 1, and a later one is a gap after 0', () => {
  expect(findGap(none, deposits(0n, 1n))).toBeUndefined()
  expect(findGap(none, deposits(1n))).toBeUndefined()
  expect(findGap(none, deposits(2n))).toEqual({ kind: 'deposit', id: 1n })
})

test('the ids after the greatest of each kind must not exist, whatever the order of the facts', () => {
  const last = { event: 2n, deposit: 4n, position: null }
  const idsAfter = (facts: readonly DatedFact[]) =>
    absentWith(last, facts)
      .filter(({ kind }) => kind === 'deposit')
      .map(({ id }) => id)
  const after = idsAfter(deposits())
  expect(after[0]).toBe(5n)
  for (const facts of [deposits(5n, 6n, 7n), deposits(7n, 5n, 6n)])
    expect(idsAfter(facts)).toEqual(after.map((id) => id + 3n))
})

import { describe, expect, test } from 'vitest'
import { firstWidth, type LogWidth, learnWidth } from '../../src/chain/endpoints/log-width.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'

/* The whole log width after one request, at both sides of each bound. */

const first = firstWidth(2_000n)
const width = (changes: Partial<LogWidth>): LogWidth => ({ ...first, ...changes })
const range = (usable: bigint | null = null): Fault => ({ kind: 'range', usable })
const size = (usable: bigint | null = null): Fault => ({ kind: 'size', usable })
const silence: Fault = { kind: 'unanswered' }

test('nothing is known before the first request', () => {
  expect(first).toEqual({ blocks: 2_000n, proven: 0n, ceiling: null, refusals: 0, silences: 0, answers: 0 })
})

describe('an answer', () => {
  const counted = width({ refusals: 3, silences: 5, answers: 7, proven: 100n })

  test('at full width grows it, and ends the rows of refusals and of silences', () => {
    const after = { blocks: 3_001n, proven: 2_000n, ceiling: null, refusals: 0, silences: 0, answers: 8 }
    expect(learnWidth(counted, 2_000n, null)).toEqual(after)
    expect(learnWidth(counted, 2_001n, null)).toEqual({ ...after, proven: 2_001n })
  })
  test('of a narrower range keeps it, and ends the same rows', () => {
    const after = { ...counted, refusals: 0, silences: 0 }
    expect(learnWidth(counted, 1_999n, null)).toEqual({ ...after, proven: 1_999n })
    expect(learnWidth(counted, 99n, null)).toEqual(after)
  })
  test.each([
    [1n, 2n],
    [2n, 4n],
    [6_666n, 10_000n],
    [6_665n, 9_998n],
    [10_000n, 10_000n],
  ])('grows %i blocks to %i without a ceiling', (blocks, next) => {
    expect(learnWidth(width({ blocks }), blocks, null).blocks).toBe(next)
  })
  test.each([
    // Half way to the ceiling.
    [1_000n, 1_200n, 1_100n],
    [1_000n, 1_064n, 1_032n],
    // At most half more.
    [1_000n, 3_000n, 1_501n],
    [1_000n, 2_002n, 1_501n],
    // Close to the ceiling.
    [1_000n, 1_063n, 1_000n],
    [1_000n, 1_001n, 1_000n],
    [1n, 2n, 1n],
    [1n, 3n, 2n],
  ])('grows %i blocks below a ceiling of %i to %i', (blocks, ceiling, next) => {
    expect(learnWidth(width({ blocks, ceiling }), blocks, null)).toMatchObject({ blocks: next, ceiling, answers: 1 })
  })
  test('drops the ceiling after a hundred at full width', () => {
    const near = width({ blocks: 1_000n, ceiling: 1_001n, proven: 1_000n })
    expect(learnWidth({ ...near, answers: 98 }, 1_000n, null)).toEqual({ ...near, answers: 99 })
    expect(learnWidth({ ...near, answers: 99 }, 1_000n, null)).toEqual({ ...near, blocks: 1_501n, ceiling: null })
    expect(learnWidth({ ...near, answers: 99 }, 999n, null)).toEqual({ ...near, answers: 99 })
    expect(learnWidth({ ...near, ceiling: null, answers: 99 }, 1_000n, null)).toMatchObject({ answers: 100 })
  })
  test.each([
    [2_000n, 6_000, 1_000n],
    [2_000n, 3_000, 2_000n],
    [2_000n, 2_000, 3_000n],
    [2_000n, 1_999, 3_001n],
    [100n, 3_000_000, 1n],
    [100n, 1, 2_000n],
    [10_000n, 1, 10_000n],
  ])('of %i blocks with %i logs leaves a width of %i', (asked, logs, blocks) => {
    const before = asked > 2_000n ? width({ blocks: asked }) : first
    expect(learnWidth(before, asked, null, logs)).toMatchObject({ blocks, ceiling: null })
  })
})

describe('a range that is too wide', () => {
  test.each([
    [0, 500n],
    [1, 125n],
    [2, 31n],
    [3, 7n],
    [5, 1n],
    [9, 1n],
  ])('after %i others in a row leaves %i blocks', (refusals, blocks) => {
    const before = width({ refusals, silences: 4, answers: 5 })
    const after = { ...before, blocks, ceiling: 2_000n, refusals: refusals + 1, answers: 0 }
    expect(learnWidth(before, 2_000n, range())).toEqual(after)
    // A text that is unknown may mean the same.
    expect(learnWidth(before, 2_000n, { kind: 'other' })).toEqual(after)
  })
  test('leaves the widest one that was answered, if that is narrower', () => {
    const before = width({ proven: 700n })
    expect(learnWidth(before, 701n, range())).toMatchObject({ blocks: 700n, proven: 700n, ceiling: 701n })
    expect(learnWidth(before, 700n, range())).toMatchObject({ blocks: 175n, proven: 0n, ceiling: 700n })
    expect(learnWidth(width({ proven: 1n }), 2_000n, range())).toMatchObject({ blocks: 1n, proven: 1n })
  })
  test('leaves the stated one, if that is narrower', () => {
    const before = width({ proven: 700n })
    expect(learnWidth(before, 2_000n, range(1_999n))).toMatchObject({ blocks: 1_999n, ceiling: 2_000n, proven: 700n })
    expect(learnWidth(before, 2_000n, range(1n))).toMatchObject({ blocks: 1n, ceiling: 2n })
    expect(learnWidth(before, 2_000n, range(2_000n))).toMatchObject({ blocks: 700n, ceiling: 2_000n })
  })
})

describe('a result that is too big', () => {
  const before = width({ ceiling: 5_000n, proven: 1_500n, silences: 2, answers: 9 })
  test.each([
    [0, 1_000n],
    [1, 500n],
    [2, 250n],
    [12, 1n],
  ])('after %i others in a row leaves %i blocks, and sets no ceiling', (refusals, blocks) => {
    const after = { ...before, blocks, refusals: refusals + 1 }
    expect(learnWidth({ ...before, refusals }, 2_000n, size())).toEqual(after)
  })
  test('leaves the stated width, if that is narrower', () => {
    expect(learnWidth(before, 2_000n, size(1_999n))).toEqual({ ...before, blocks: 1_999n, refusals: 1 })
    expect(learnWidth(before, 2_000n, size(2_000n))).toEqual({ ...before, blocks: 1_000n, refusals: 1 })
  })
})

describe.each<Fault>([silence, { kind: 'garbage' }])('no answer ($kind)', (fault) => {
  const before = width({ proven: 1_000n, refusals: 1, answers: 9, ceiling: 3_000n })
  const halved = { ...before, answers: 0 }

  test('halves a width that was never answered at the second in a row', () => {
    expect(learnWidth(before, 1_001n, fault)).toEqual({ ...before, silences: 1 })
    const second = learnWidth({ ...before, silences: 1 }, 1_001n, fault)
    expect(second).toEqual({ ...halved, blocks: 500n, proven: 500n, ceiling: 1_001n, silences: 2 })
  })
  test('halves a width that was answered at the sixth in a row', () => {
    expect(learnWidth({ ...before, silences: 4 }, 1_000n, fault)).toEqual({ ...before, silences: 5 })
    const sixth = learnWidth({ ...before, silences: 5 }, 1_000n, fault)
    expect(sixth).toEqual({ ...halved, blocks: 500n, proven: 500n, ceiling: 1_000n, silences: 6 })
    const narrow = learnWidth({ ...before, proven: 100n, silences: 5 }, 1_000n, fault)
    expect(narrow).toMatchObject({ blocks: 500n, proven: 100n })
  })
  test('of a single block never halves', () => {
    expect(learnWidth({ ...before, silences: 40 }, 1n, fault)).toEqual({ ...before, silences: 41 })
    expect(learnWidth({ ...before, silences: 40 }, 2n, fault)).toMatchObject({ blocks: 1n, ceiling: 2n })
  })
})

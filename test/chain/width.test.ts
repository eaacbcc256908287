import { describe, expect, test } from 'vitest'
import type { Fault } from '../../src/chain/faults.ts'
import { firstWidth, learnWidth, type Width } from '../../src/chain/width.ts'
import { uniforms } from '../../src/lib/random.ts'

type Node = (asked: bigint) => Fault | null

/** Asks a node range after range; the widths it was asked. */
const ask = (node: Node, times: number, from: Width = firstWidth(2_000n)): { width: Width; asked: bigint[] } => {
  const asked: bigint[] = []
  let width = from
  for (let at = 0; at < times; at += 1) {
    asked.push(width.blocks)
    width = learnWidth(width, width.blocks, node(width.blocks))
  }
  return { width, asked }
}

const limited =
  (most: bigint, states: bigint | null): Node =>
  (asked) =>
    asked > most ? { kind: 'range', usable: states } : null

test('grows by half with each answer, to ten thousand', () => {
  const { asked, width } = ask(() => null, 6)
  expect(asked.slice(0, 3)).toEqual([2_000n, 3_001n, 4_502n])
  expect(width.blocks).toBe(10_000n)
})

test('a stated limit is used at once and not passed', () => {
  expect(ask(limited(500n, 500n), 4).asked).toEqual([2_000n, 500n, 500n, 500n])
})

test.each([1_999n, 1_000n, 200n, 100n, 31n, 7n, 5n, 3n, 1n])(
  'a node that takes %i blocks is answered within four requests, whatever it says',
  (most) => {
    for (const states of [null, 10_000n, 2_000n, 1_999n, 1_500n, 500n]) {
      // A number below the limit is no lie that costs anything.
      const { asked } = ask(limited(most, states), 4)
      expect(
        asked.some((each) => each <= most),
        `${most} stated as ${states}: ${asked}`,
      ).toBe(true)
    }
  },
)

test('comes close to an unstated limit with few refusals, and tries for more only once in a hundred answers', () => {
  const refusals: number[] = []
  const node: Node = (asked) => (asked > 777n ? { kind: 'range', usable: null } : null)
  let width = firstWidth(2_000n)
  for (let at = 0; at < 300; at += 1) {
    const fault = node(width.blocks)
    if (fault !== null) refusals.push(at)
    width = learnWidth(width, width.blocks, fault)
  }
  expect(width.blocks).toBeGreaterThan(650n)
  expect(refusals.length).toBeLessThan(16)
})

test('a limit that was lifted is found out', () => {
  const { width } = ask(limited(500n, 500n), 10)
  expect(ask(() => null, 120, width).width.blocks).toBe(10_000n)
})

describe('what says nothing of the width leaves it alone:', () => {
  const faults: readonly Fault[] = [
    { kind: 'rate', retryAfterMs: 1_000 },
    { kind: 'missing' },
    { kind: 'capability', lacks: 'logs' },
    { kind: 'filters', most: 3 },
    { kind: 'batch', most: 3 },
  ]
  test.each(faults)('$kind', (fault) => {
    const before = ask(limited(700n, null), 20).width
    expect(ask(() => fault, 50, before).width).toEqual(before)
  })
})

test('a result too big narrows this range, and later ones grow again', () => {
  const before = ask(() => null, 10).width
  const narrowed = learnWidth(before, 10_000n, { kind: 'size', usable: null })
  expect(narrowed.blocks).toBe(5_000n)
  expect(learnWidth(before, 10_000n, { kind: 'size', usable: 123n }).blocks).toBe(123n)
  expect(ask(() => null, 5, narrowed).width.blocks).toBe(10_000n)
})

test('silence halves at the second time, and where an answer was given before, at the sixth', () => {
  const silent: Node = () => ({ kind: 'unanswered' })
  expect(ask(silent, 3).asked).toEqual([2_000n, 2_000n, 1_000n])
  const tip = learnWidth(firstWidth(2_000n), 40n, null)
  let width = tip
  // A node that is away for a while is not asked for less at the tip, where it has answered.
  for (let times = 0; times < 5; times += 1) width = learnWidth(width, 10n, { kind: 'unanswered' })
  expect(width.blocks).toBe(2_000n)
})

test('never below one block, never above the widest, whatever happens', () => {
  const random = uniforms(20_261_121)
  const faults: readonly (Fault | null)[] = [
    null,
    { kind: 'range', usable: null },
    { kind: 'range', usable: 1n },
    { kind: 'range', usable: 1_000_000n },
    { kind: 'size', usable: null },
    { kind: 'size', usable: 5n },
    { kind: 'unanswered' },
    { kind: 'garbage' },
    { kind: 'other' },
  ]
  let width = firstWidth(2_000n)
  for (let at = 0; at < 20_000; at += 1) {
    const fault = faults[Math.floor(random() * faults.length)] ?? null
    const asked = random() < 0.5 ? width.blocks : BigInt(Math.ceil(random() * Number(width.blocks)))
    width = learnWidth(width, asked, fault)
    expect(width.blocks >= 1n && width.blocks <= 10_000n, `step ${at}, seed 20261121`).toBe(true)
  }
})

test('an answer with many logs narrows the next ranges, one with few lets them grow, and neither is a limit of the node', () => {
  const dense = learnWidth(firstWidth(2_000n), 2_000n, null, 60_000)
  expect(dense).toMatchObject({ blocks: 100n, ceiling: null })
  // As full as an answer should be: no more, no fewer.
  expect(learnWidth(dense, 100n, null, 3_000).blocks).toBe(100n)
  expect(learnWidth(dense, 100n, null, 2_400).blocks).toBe(125n)
  expect(learnWidth(dense, 100n, null, 0).blocks).toBe(151n)
  // Of a range that was narrower than could be, density counts as well.
  expect(learnWidth(dense, 10n, null, 3_000).blocks).toBe(10n)
  expect(learnWidth(firstWidth(1n), 1n, null, 1_000_000).blocks).toBe(1n)
})

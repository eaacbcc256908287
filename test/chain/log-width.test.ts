import { describe, expect, test } from 'vitest'
import { firstWidth, type LogWidth, learnWidth } from '../../src/chain/endpoints/log-width.ts'
import type { Fault } from '../../src/chain/rpc/faults.ts'
import { uniforms } from '../../src/lib/random.ts'

type Node = (asked: bigint) => Fault | null

/** Requests range after range from a node and returns the requested widths. */
const ask = (node: Node, times: number, from: LogWidth = firstWidth(2_000n)): { width: LogWidth; asked: bigint[] } => {
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

test('the width grows by half with each answer, up to ten thousand blocks', () => {
  const { asked, width } = ask(() => null, 6)
  expect(asked.slice(0, 3)).toEqual([2_000n, 3_001n, 4_502n])
  expect(width.blocks).toBe(10_000n)
})

test('a stated limit is used at once and not exceeded', () => {
  expect(ask(limited(500n, 500n), 4).asked).toEqual([2_000n, 500n, 500n, 500n])
})

test.each([1_999n, 1_000n, 200n, 100n, 31n, 7n, 5n, 3n, 1n])(
  'a node that accepts %i blocks gets a request it can answer within four attempts, whatever limit it states',
  (most) => {
    for (const states of [null, 10_000n, 2_000n, 1_999n, 1_500n, 500n]) {
      // A stated limit below the real one costs no extra attempts.
      const { asked } = ask(limited(most, states), 4)
      expect(
        asked.some((each) => each <= most),
        `${most} stated as ${states}: ${asked}`,
      ).toBe(true)
    }
  },
)

test('the width approaches an unstated limit with few refusals, and grows past it only every hundred answers', () => {
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

test('a limit that the node has lifted is detected', () => {
  const { width } = ask(limited(500n, 500n), 10)
  expect(ask(() => null, 120, width).width.blocks).toBe(10_000n)
})

describe('a fault unrelated to the width does not change it:', () => {
  const faults: readonly Fault[] = [
    { kind: 'rate', retryAfterMs: 1_000 },
    { kind: 'missing' },
    { kind: 'capability', missing: 'logs' },
    { kind: 'batch', most: 3 },
  ]
  test.each(faults)('$kind', (fault) => {
    const before = ask(limited(700n, null), 20).width
    expect(ask(() => fault, 50, before).width).toEqual(before)
  })
})

test('a result that is too big narrows the next range, and later ones grow again', () => {
  const before = ask(() => null, 10).width
  const narrowed = learnWidth(before, 10_000n, { kind: 'size', usable: null })
  expect(narrowed.blocks).toBe(5_000n)
  expect(learnWidth(before, 10_000n, { kind: 'size', usable: 123n }).blocks).toBe(123n)
  expect(ask(() => null, 5, narrowed).width.blocks).toBe(10_000n)
})

test('the second unanswered request halves the width, or the sixth one if the node has answered before', () => {
  const silent: Node = () => ({ kind: 'unanswered' })
  expect(ask(silent, 3).asked).toEqual([2_000n, 2_000n, 1_000n])
  const tip = learnWidth(firstWidth(2_000n), 40n, null)
  let width = tip
  // At the tip, where the node has answered, a short outage must not narrow the width.
  for (let times = 0; times < 5; times += 1) width = learnWidth(width, 10n, { kind: 'unanswered' })
  expect(width.blocks).toBe(2_000n)
})

test('any sequence of outcomes keeps the width between one and ten thousand blocks', () => {
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

test('many logs narrow the next ranges, few logs widen them, and neither sets a limit of the node', () => {
  const dense = learnWidth(firstWidth(2_000n), 2_000n, null, 60_000)
  expect(dense).toMatchObject({ blocks: 100n, ceiling: null })
  // The target number of logs per answer keeps the width.
  expect(learnWidth(dense, 100n, null, 3_000).blocks).toBe(100n)
  expect(learnWidth(dense, 100n, null, 2_400).blocks).toBe(125n)
  expect(learnWidth(dense, 100n, null, 0).blocks).toBe(151n)
  // The density of logs also counts for a range that was narrower than allowed.
  expect(learnWidth(dense, 10n, null, 3_000).blocks).toBe(10n)
  expect(learnWidth(firstWidth(1n), 1n, null, 1_000_000).blocks).toBe(1n)
})

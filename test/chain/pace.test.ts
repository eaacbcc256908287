import { expect, test } from 'vitest'
import { createPace } from '../../src/chain/head/pace.ts'
import type { Block } from '../../src/chain/rpc/requests.ts'

const block = (number: number, timestamp = 0): Block => ({
  number: BigInt(number),
  hash: '0x',
  timestamp: BigInt(timestamp),
})

/**
 * The pace of a chain whose nodes agreed on blocks at these times, and how far above the last one can be new. Each block
 * was made when it was seen first.
 */
const paceOf = (...seen: readonly (readonly [number: number, at: number])[]) => {
  const pace = createPace()
  const madeAt = (number: number) => (seen.find(([other]) => other === number)?.[1] ?? 0) / 1_000
  for (const [number, at] of seen) pace.see(block(number, Math.floor(madeAt(number))), at, { isAgreed: true })
  const [last, at] = seen.at(-1) ?? [0, 0]
  const most = (afterMs = 0): number => {
    let above = 0
    while (pace.doubt(block(last + above + 1), at + afterMs) === null) above += 1
    return above
  }
  return { pace, most }
}

test('every block is in doubt before the first one is known', () => {
  expect(createPace().doubt(block(1), 0)).toBe('nothing is known of the chain yet')
})

test('an unmeasured chain can have made twice as many blocks as the fastest one in that time and four seconds', () => {
  const { pace, most } = paceOf([100, 5_000])
  expect([most(), most(1_000), most(10_000)]).toEqual([80, 100, 280])
  expect(pace.doubt(block(181), 5_000)).toBe('it is 81 blocks above the last one')
  expect(pace.doubt(block(90), 5_000)).toBeNull()
})

// biome-ignore format: a row each
test.each([
  ['is not measured in less than ten seconds', [[100, 0], [150, 9_000]], 80],
  ['is measured over ten seconds', [[100, 0], [150, 10_000]], 40],
  ['is rounded up', [[100, 0], [103, 10_000]], 3],
  ['is measured from the first block on', [[100, 0], [140, 5_000], [150, 10_000]], 40],
  ['is measured again from the last one on, and is the faster one of both', [[100, 0], [150, 10_000], [160, 20_000]], 40],
  ['becomes faster at once', [[100, 0], [150, 10_000], [250, 20_000]], 80],
  ['becomes slower the second time', [[100, 0], [150, 10_000], [160, 20_000], [170, 30_000]], 8],
  ['is not measured over a halt', [[100, 0], [150, 10_000], [150, 20_000], [200, 30_000]], 40],
  ['is not measured down to a lower block', [[100, 0], [150, 10_000], [140, 20_000], [130, 30_000]], 40],
  ['of before counts after a halt', [[100, 0], [150, 10_000], [150, 99_000], [150, 150_000]], 1.25 * 140 * 5 + 80],
] as const)('the pace %s', (_, seen, most) => {
  expect(paceOf(...seen).most()).toBe(most)
})

test('blocks that no nodes agreed on do not show the pace', () => {
  const { pace } = paceOf([100, 0], [150, 10_000])
  pace.see(block(210, 20), 20_000)
  expect([pace.doubt(block(250), 20_000), pace.doubt(block(251), 20_000)]).toEqual([
    null,
    'it is 41 blocks above the last one',
  ])
})

test('a node cannot add the margin again with each block: the last one that nodes agreed on bounds them all', () => {
  const { pace } = paceOf([0, 0], [50, 10_000])
  let [number, now] = [50, 10_000]
  for (; now < 60_000; now += 250) {
    while (pace.doubt(block(number + 1), now) === null) number += 1
    pace.see(block(number, Math.floor(now / 1_000)), now)
  }
  // 5 blocks a second: a quarter more of the time since then, and 16 seconds.
  expect(number).toBeLessThanOrEqual(50 + 5 * (1.25 * 50 + 16))
  expect(pace.doubt(block(number + 20), now)).toMatch(/above the last one that nodes agreed on$/)
  pace.see(block(300, now / 1_000), now, { isAgreed: true })
  expect(pace.doubt(block(340), now)).toBeNull()
})

test('what follows a block that is old when it is reported has had time since then', () => {
  const pace = createPace()
  pace.hear(block(700, 1_000), 1_000_000)
  pace.see(block(100, 940), 1_000_000, { isAgreed: true })
  // A quarter more than the fastest chains make in that minute, and 16 seconds of them.
  expect([pace.doubt(block(100 + 910), 1_000_000), pace.doubt(block(101 + 910), 1_000_000)]).toEqual([
    null,
    'it is 911 blocks above the last one that nodes agreed on',
  ])
})

test('blocks of a chain that is behind the clock are not old, and those of one ahead of it can be', () => {
  const late = createPace()
  late.see(block(100, 400), 1_000_000, { isAgreed: true })
  expect(late.doubt(block(181), 1_000_000)).toBe('it is 81 blocks above the last one')
  const early = createPace()
  for (const [number, timestamp] of [
    [100, 4_600],
    [101, 4_570],
  ] as const)
    early.see(block(number, timestamp), 1_000_000, { isAgreed: true })
  expect([early.doubt(block(636), 1_000_000), early.doubt(block(637), 1_000_000)]).toEqual([
    null,
    'it is 536 blocks above the last one that nodes agreed on',
  ])
})

test.each([
  [0, 15],
  [3, 18],
  [-60, 15],
])('when the last block was %i s ahead of the clock, the next one is at most %i s', (last, most) => {
  const pace = createPace()
  pace.see(block(1, 1_000 + last), 1_000_000, { isAgreed: true })
  expect(pace.doubt(block(2, 1_000 + most), 1_000_000)).toBeNull()
  expect(pace.doubt(block(2, 1_001 + most), 1_000_000)).toBe(`its time is ${most + 1} s ahead of the clock`)
})

test('only a head that nodes agreed on shows that the time of the chain is further ahead of the clock', () => {
  const pace = createPace()
  pace.see(block(1, 1_000), 1_000_000, { isAgreed: true })
  for (const ahead of [15, 30]) pace.see(block(1, 1_000 + ahead), 1_000_000)
  expect(pace.doubt(block(1, 1_015), 1_000_000)).toBeNull()
  expect(pace.doubt(block(1, 1_016), 1_000_000)).not.toBeNull()
  pace.see(block(1, 1_030), 1_000_000, { isAgreed: true })
  expect(pace.doubt(block(1, 1_045), 1_000_000)).toBeNull()
  pace.see(block(1, 1_020), 1_000_000)
  expect(pace.doubt(block(1, 1_035), 1_000_000)).toBeNull()
  expect(pace.doubt(block(1, 1_036), 1_000_000)).not.toBeNull()
})

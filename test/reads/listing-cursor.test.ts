import fc from 'fast-check'
import { numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { sealCursor } from '../../src/reads/cursor.ts'
import { type ChainCursor, decodeCursor, encodeCursor } from '../../src/reads/listings/cursor.ts'

const list = '/hedge/positions 8453,56 created desc latest'
const whole = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
const hash = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => numberToHex(value, { size: 32 }))

const stage = (chainId: 8453 | 56): fc.Arbitrary<ChainCursor> =>
  fc.record({
    chainId: fc.constant(chainId),
    after: fc.option(fc.record({ id: whole, key: fc.constantFrom('', '1800000000', '9'.repeat(78)) })),
    bound: fc.record({ number: whole, hash, timestamp: whole }),
    rollback: whole,
  })

test('a cursor decodes to the positions that it was made of', () => {
  fc.assert(
    fc.property(fc.tuple(stage(8453), stage(56)), (stages) => {
      expect(decodeCursor(list, encodeCursor(list, stages))).toEqual(stages)
    }),
  )
})

test('a cursor of another list is rejected', () => {
  const [cursor] = fc.sample(stage(8453), 1).map((one) => encodeCursor(list, [one]))
  expect(() => decodeCursor(list.replace('desc', 'asc'), cursor ?? '')).toThrow('cursor')
})

test.each([
  ['no JSON', '{'],
  ['no stages', '[]'],
  ['another chain', '[[1,null,["1","0x00","1"],"0"]]'],
  ['an id beyond 63 bits', `[[8453,["9999999999999999999",""],["1","0x${'0'.repeat(64)}","1"],"0"]]`],
  ['a key that is no number', `[[8453,["1","NaN"],["1","0x${'0'.repeat(64)}","1"],"0"]]`],
])('a forged cursor made of %s is rejected', (_, text) => {
  expect(() => decodeCursor(list, sealCursor(list, text))).toThrow('cursor')
})

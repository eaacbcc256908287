import fc from 'fast-check'
import { numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { sealCursor } from '../../src/reads/cursor.ts'
import { decodeStages, encodeStages, type Stage } from '../../src/reads/listing-cursor.ts'

const list = '/hedge/positions 8453,56 created desc latest'
const whole = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
const hash = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => numberToHex(value, { size: 32 }))

const stage = (chainId: 8453 | 56): fc.Arbitrary<Stage> =>
  fc.record({
    chainId: fc.constant(chainId),
    after: fc.option(fc.record({ id: whole, key: fc.constantFrom('', '1800000000', '9'.repeat(78)) })),
    bound: fc.record({ number: whole, hash, timestamp: whole }),
    rollback: whole,
  })

test('a cursor comes back as the stages it was made of', () => {
  fc.assert(
    fc.property(fc.tuple(stage(8453), stage(56)), (stages) => {
      expect(decodeStages(list, encodeStages(list, stages))).toEqual(stages)
    }),
  )
})

test('a cursor of another list is refused', () => {
  const [cursor] = fc.sample(stage(8453), 1).map((one) => encodeStages(list, [one]))
  expect(() => decodeStages(list.replace('desc', 'asc'), cursor ?? '')).toThrow('cursor')
})

test.each([
  ['no JSON', '{'],
  ['no stages', '[]'],
  ['another chain', '[[1,null,["1","0x00","1"],"0"]]'],
  ['an id beyond 63 bits', `[[8453,["9999999999999999999",""],["1","0x${'0'.repeat(64)}","1"],"0"]]`],
  ['a key that is no number', `[[8453,["1","NaN"],["1","0x${'0'.repeat(64)}","1"],"0"]]`],
])('a cursor that somebody made of %s is refused', (_, text) => {
  expect(() => decodeStages(list, sealCursor(list, text))).toThrow('cursor')
})

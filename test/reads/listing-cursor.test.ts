import fc from 'fast-check'
import { numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { type ChainCursor, decodeCursor, encodeCursor, sealCursor } from '../../src/reads/cursor.ts'

const list = '/hedge/positions 8453,56 created desc latest'
const chains = [8453, 56]
const block = ['1', `0x${'0'.repeat(64)}`, '1']
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
      const cursor = encodeCursor(list, stages)
      expect(decodeCursor(list, chains, cursor)).toEqual(stages)
      // With the mark of a text in CSV.
      expect(decodeCursor(list, chains, `'${cursor}`)).toEqual(stages)
    }),
  )
})

test('a cursor of another list is rejected', () => {
  const [cursor] = fc.sample(stage(8453), 1).map((one) => encodeCursor(list, [one]))
  expect(() => decodeCursor(list.replace('desc', 'asc'), [8453], cursor ?? '')).toThrow('cursor')
})

const part = (chainId: unknown, after: unknown = null) => [chainId, after, block, '0']

test.each([
  ['no JSON', '{'],
  ['no list', 'null'],
  ['no positions', '[]'],
  ['another chain', JSON.stringify([part(8453), part(1)])],
  ['one chain of two', JSON.stringify([part(8453)])],
  ['one chain twice', JSON.stringify([part(8453), part(56), part(8453)])],
  ['another order of chains', JSON.stringify([part(56), part(8453)])],
  ['a chain that is no number', JSON.stringify([part('8453'), part(56)])],
  ['an id beyond 63 bits', JSON.stringify([part(8453, ['9999999999999999999', '']), part(56)])],
  ['a key that is no number', JSON.stringify([part(8453, ['1', 'NaN']), part(56)])],
])('a forged cursor made of %s is rejected', (_, text) => {
  expect(() => decodeCursor(list, chains, sealCursor(list, text))).toThrow('cursor')
  const valid = JSON.stringify([part(8453, ['1', '']), part(56)])
  expect(decodeCursor(list, chains, sealCursor(list, valid))).toHaveLength(2)
})

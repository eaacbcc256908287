import { expect, test } from 'vitest'
import { decode, encode } from '../../client/src/codec.ts'

test('decimal strings are amounts by their name alone, also negative ones and those in lists', () => {
  expect(decode({ amount: '12', name: '12' })).toEqual({ amount: 12n, name: '12' })
  expect(decode({ amount: '-12' })).toEqual({ amount: -12n })
  expect(decode({ amount: '1.5' })).toEqual({ amount: '1.5' })
  expect(decode({ amount: ['1', '2'] })).toEqual({ amount: [1n, 2n] })
  expect(decode([{ data: { amount: '7' } }, null])).toEqual([{ data: { amount: 7n } }, null])
})

test('arguments of a call are left as they are, since their meaning depends on the function', () => {
  expect(decode({ args: { amount: '12' }, amount: '12' })).toEqual({ args: { amount: '12' }, amount: 12n })
})

test('amounts of a request are decimal strings', () => {
  expect(encode({ amount: 2n ** 70n, list: [-1n], id: 1 })).toBe(
    '{"amount":"1180591620717411303424","list":["-1"],"id":1}',
  )
})

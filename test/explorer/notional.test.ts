import { expect, test } from 'vitest'
import { notionalOf } from '../../explorer/src/act/notional.ts'

const EXPIRY = 1_800_000_000
const event = {
  ...{ status: 0, poolOpen: true, expiryDate: EXPIRY, symbol: 'USDC', decimals: 6 },
  utilization: {
    ...{ totalLiquidity: 0n, totalExposure: 0n, utilizationRate: 0n },
    availableCapacity: 502_588_000000n,
  },
}

test('a notional within the capacity of the pool is taken', () => {
  expect(notionalOf('502,588', event, EXPIRY - 1)).toEqual({ notional: 502_588_000000n })
})

test('a notional above the capacity has a warning with what can be bought', () => {
  const warned = { notional: 123_456_789_000000n, problem: 'Only 502,588 USDC can be bought.' }
  expect(notionalOf('123,456,789', event, EXPIRY - 1)).toEqual(warned)
})

test.each([
  ['closed', { ...event, poolOpen: false }, EXPIRY - 1],
  ['expired', event, EXPIRY],
])('nothing can be bought of a pool that is %s', (_, of, now) => {
  expect(notionalOf('1', of, now)).toEqual({ notional: 1_000000n, problem: 'Nothing can be bought now.' })
})

test('what is no amount has no notional, and a reason unless it is empty', () => {
  expect(notionalOf('', event, 0)).toEqual({ notional: null, problem: '' })
  for (const text of ['abc', '0', '-1', '1.0000001'])
    expect(notionalOf(text, event, 0)).toEqual({
      notional: null,
      problem: 'Expected an amount in whole tokens above 0 with at most 6 decimals.',
    })
})

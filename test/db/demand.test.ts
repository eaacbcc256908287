import { expect, test } from 'vitest'
import { parseDemand } from '../../src/db/changes/demand.ts'
import { storedHeadOf } from '../../src/db/changes/stored-head.ts'

test.each([
  ['8453 100 2000', { chainId: 8453, block: 100n, ms: 2_000 }],
  ['56 0 1', { chainId: 56, block: 0n, ms: 1 }],
  ['8453  2000', { chainId: 8453, block: null, ms: 2_000 }],
  ['4294967295 18446744073709551615 999999', { chainId: 4_294_967_295, block: 2n ** 64n - 1n, ms: 999_999 }],
])('the demand "%s"', (payload, demand) => {
  expect(parseDemand(payload)).toEqual(demand)
})

test.each(['', '8453 100', '8453 100 ', ' 100 2000', '8453 -1 2000', 'x 8453 1 1', '8453 1 1 x', '1 1 1000000'])(
  'the text "%s" is no demand',
  (payload) => {
    expect(parseDemand(payload)).toBeNull()
  },
)

test('a stored head is the block of its row, with its age in milliseconds', () => {
  const row = { headNumber: 7n, checkedNumber: 7n, headHash: '0x07', headTimestamp: 14n, isQuiet: true } as const
  expect(storedHeadOf({ ...row, ageSeconds: 1.5 })).toEqual({
    block: { number: 7n, hash: '0x07', timestamp: 14n },
    ageMs: 1_500,
  })
  // A build that stores no hash changes the number alone.
  expect(storedHeadOf({ ...row, headNumber: 8n, ageSeconds: 1 })).toBeNull()
  expect(storedHeadOf({ ...row, headHash: null, ageSeconds: 1 })).toBeNull()
})

import {
  breakEven,
  capacityOf,
  costOf,
  describeEvent,
  describePurchase,
  greatestPayout,
  netPayout,
  payoutAt,
} from 'fx-protection-client'
import { describe, expect, test } from 'vitest'
import { purchaseText, signBeforeText, termsText } from '../../src/protocol/sentence.ts'

/* Terms with small numbers: a notional of 1,000 pays 10 for each unit of the rate beyond the strike. */

const above = { strike: 100n, payoutCap: 120n, initialRate: 100n, strikeAbove: true }
const below = { ...above, payoutCap: 80n, strikeAbove: false }
/** Pays 111 or nothing. */
const single = { strike: 100n, payoutCap: 0n, initialRate: 90n, strikeAbove: true }
const tenth = { payoutFeeRate: 100_000n, hedgerFeeRate: 100_000n }

test.each([
  [above, 100n, 0n],
  [above, 101n, 10n],
  [above, 120n, 200n],
  [above, 121n, 200n],
  [below, 99n, 10n],
  [below, 79n, 200n],
  [single, 99n, 0n],
  [single, 100n, 111n],
  [above, 0n, 0n],
])('of %o at the rate %i a notional of 1,000 pays %i', (event, rate, paid) => {
  expect(payoutAt(event, 1_000n, rate)).toBe(paid)
})

test('the greatest payout is that at the cap, or of the whole width of a single strike', () => {
  expect([above, below, single].map((event) => greatestPayout(event, 1_000n))).toEqual([200n, 200n, 111n])
})

test('negative amounts are refused by their name, and zero is an amount', () => {
  expect(() => payoutAt(above, -1n, 1n)).toThrow(new RangeError('the notional is negative: -1'))
  expect(() => payoutAt(above, 1n, -1n)).toThrow(new RangeError('the rate is negative: -1'))
  expect(() => greatestPayout(above, -2n)).toThrow(new RangeError('the notional is negative: -2'))
  expect(() => costOf({ premiumRate: 1n }, -3n, tenth)).toThrow(new RangeError('the notional is negative: -3'))
  expect([payoutAt(above, 0n, 0n), greatestPayout(above, 0n)]).toEqual([0n, 0n])
})

test('a purchase costs its premium, and the fee on the premium', () => {
  expect(costOf({ premiumRate: 50_000n }, 1_000n, tenth)).toEqual({ premium: 50n, platformFee: 5n, total: 55n })
  // Each division is rounded down by itself.
  expect(costOf({ premiumRate: 50_000n }, 199n, tenth)).toEqual({ premium: 9n, platformFee: 0n, total: 9n })
})

test('a wallet receives a payout less its fee, which is rounded down', () => {
  expect([netPayout(1_000n, { payoutFeeRate: 10_000n }), netPayout(99n, { payoutFeeRate: 10_000n })]).toEqual([
    990n,
    99n,
  ])
})

describe('the break-even rate', () => {
  test.each([
    [above, 0n, 100n],
    [above, 1n, 101n],
    [above, 9n, 101n],
    [above, 10n, 102n],
    [above, 45n, 105n],
    [above, 46n, 106n],
    [above, 180n, 120n],
    [above, 181n, null],
    [below, 0n, 100n],
    [below, 45n, 95n],
    [below, 46n, 94n],
    [below, 180n, 80n],
    [below, 181n, null],
    [single, 100n, 100n],
    [single, 101n, null],
  ])('of %o for a cost of %i is %s', (event, cost, rate) => {
    expect(breakEven(event, { notional: 1_000n, cost }, tenth)).toBe(rate)
  })
})

const open = { status: 0, poolOpen: true, expiryDate: 50 }

test.each([
  ['open', open, 49, 7n],
  ['at its expiry', open, 50, 0n],
  ['closed', { ...open, poolOpen: false }, 49, 0n],
  ['settled', { ...open, status: 1 }, 49, 0n],
])('the capacity of a pool that is %s', (_, event, at, capacity) => {
  expect(capacityOf(event, { availableCapacity: 7n }, at)).toBe(capacity)
})

test('an event and a purchase are the sentences of the service', () => {
  const event = { ...above, id: 8, underlying: 'USD/GHS', expiryDate: 1_800_000_000 }
  const token = { symbol: 'USDC', decimals: 6 }
  expect(describeEvent(event)).toBe(`Protection against ${termsText(event)}.`)
  const bought = { notional: 1_000n, maxCost: 55n }
  const text = `Buy ${purchaseText(event, { eventId: 8, ...bought }, token)}.`
  expect(describePurchase(event, bought, token)).toBe(text)
  expect(describePurchase(event, { ...bought, deadline: 1_800_000_100 }, token)).toBe(
    `${text} ${signBeforeText(1_800_000_100)}`,
  )
  expect(text).toContain('0.000055 USDC')
})

import { expect, test } from 'vitest'
import { feeOn, Payout, payout } from '../../src/protocol/claim-fees.ts'
import { feeAmount, premiumAmount } from '../../src/protocol/formulas.ts'
import { position } from '../../src/protocol/records.ts'

test.each([
  [438_596_491n, 10_000n, 4_385_964n],
  [99n, 10_000n, 0n],
  [100n, 10_000n, 1n],
  [10n ** 30n, 1_000_000n, 10n ** 30n],
  [5n, 0n, 0n],
])('the fee and the premium of %i at a rate of %i are %i', (amount, rate, part) => {
  expect([feeAmount(amount, rate), premiumAmount(amount, rate)]).toEqual([part, part])
})

test('a fee and what is left add up to the amount', () => {
  expect(feeOn(438_596_491n, 10_000n)).toEqual({ fee: '4385964', net: '434210527', feeReason: null })
})

test.each(['rates_unknown', 'rates_contradicted'] as const)('a fee that is not known has the reason %s', (reason) => {
  expect(feeOn(100n, reason)).toEqual({ fee: null, net: null, feeReason: reason })
})

test('a payout is known once the event is settled', () => {
  const hedger = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  const view = {
    id: 1n,
    eventId: 2n,
    hedger,
    claimed: false,
    notional: 1n,
    premiumPaid: 1n,
    platformFeePaid: 1n,
  } as const
  const of = (status: number) => payout(position({ position: { ...view, payoutAmount: 200n, status } }), 10_000n)
  expect(of(0)).toBeNull()
  expect(of(1)).toEqual({ gross: '200', fee: '2', net: '198', feeReason: null })
  expect(Payout.parse(of(4))).toEqual(of(1))
})

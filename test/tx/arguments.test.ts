import { expect, test } from 'vitest'
import { argumentNotes } from '../../src/tx/arguments.ts'

test('every number of a body has the unit of its meaning', () => {
  const of = (unit: string): string[] =>
    Object.entries(argumentNotes)
      .filter(([, note]) => note.unit === unit)
      .map(([name]) => name)
  expect({ amount: of('amount'), rate: of('rate'), seconds: of('seconds') }).toEqual({
    amount: ['amount', 'notional', 'maxCost', 'initialLiquidity', 'creationFee'],
    rate: [
      ...['strike', 'payoutCap', 'initialRate', 'premiumRate', 'price', 'settlementPrice', 'hedgerFeeRate'],
      ...['payoutFeeRate', 'lpProfitFeeRate', 'creatorLoyaltyRate'],
    ],
    seconds: ['expiry', 'deadline', 'quoteTimestamp'],
  })
})

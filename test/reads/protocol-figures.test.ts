import { expect, test } from 'vitest'
import type { LedgerTypeName } from '../../src/protocol/ledger.ts'
import { protocolFigures, type Sum } from '../../src/reads/series/protocol-figures.ts'

/** Sums of powers of ten, so that each part of a figure shows in its digits. */
const sums: Partial<Record<LedgerTypeName, Partial<Sum>>> = {
  'event.created': { rows: 1n },
  'event.settled': { rows: 2n, notional: 7n },
  'deposit.created': { rows: 3n, amount: 1_000n },
  'position.created': { rows: 4n, amount: 20n, fee: 3n, notional: 50n },
  'payout.claimed': { rows: 5n, amount: 6n, fee: 400n },
  'capital.withdrawn': { amount: 800n, notional: 900n },
  'premiums.claimed': { amount: 9n, fee: 10_000n },
  'payouts.recovered': { amount: 11n },
  'earnings.withdrawn': { amount: 12n },
}

test('the figures of the protocol are counts and sums of its logs', () => {
  const of = (type: LedgerTypeName): Sum => ({ rows: 0n, amount: 0n, fee: 0n, notional: 0n, ...sums[type] })
  const found = Object.entries(protocolFigures).map(([name, { value }]) => [name, value(of)])
  expect(Object.fromEntries(found)).toEqual({
    ...{ events: 1, settlements: 2, deposits: 3, positions: 4, claims: 5 },
    ...{ liquidity: '100', deposited: '1000', withdrawn: '800', exposure: '43' },
    ...{ premiums: '20', premiumsClaimed: '9', payouts: '6', recovered: '11', fees: '10403', earnings: '12' },
  })
})

import { expect, test } from 'vitest'
import { createFold, type EventLog } from '../../src/protocol/history/fold.ts'
import { rulesOf } from '../../src/protocol/history/rules.ts'
import { seedEvent, seedToken } from '../support/seed-index.ts'

/* What a life of the protocol seldom shows: `fold.service` compares whole lives with what the views return. */

const { fact, seen } = seedEvent(1, { token: seedToken, wallets: 10, events: 3, rowsABlock: 5 })
const terms = { ...seen.range, expiryDate: fact.expiryDate, allowExternalLp: true, creatorLoyaltyRate: null }

const open = () => {
  const fold = createFold(terms, rulesOf.reference[0])
  const empty = { blockTimestamp: 1n, depositId: null, positionId: null, fee: 0n }
  const apply = (log: Pick<EventLog, 'type' | 'args'> & Partial<EventLog>) =>
    fold.apply({ ...empty, amount: null, ...log })
  return {
    deposit: (depositId: bigint, shares: bigint) =>
      apply({ type: 'deposit.created', depositId, amount: 100n, args: { shares } }),
    buy: (positionId: bigint, premium: bigint) =>
      apply({ type: 'position.created', positionId, amount: premium, args: { notional: 5n } }),
    pending: (id: bigint) => fold.deposit(id)?.pending,
  }
}

test('what is left of a premium after its division by the shares is part of the next one', () => {
  const { deposit, buy, pending } = open()
  deposit(1n, 3n)
  buy(1n, 10n)
  expect(pending(1n)).toBe(9n)
  buy(2n, 20n)
  expect(pending(1n)).toBe(30n)
})

test('a deposit earns of the premiums after it', () => {
  const { deposit, buy, pending } = open()
  deposit(1n, 3n)
  buy(1n, 30n)
  deposit(2n, 3n)
  expect([pending(1n), pending(2n)]).toEqual([30n, 0n])
  buy(2n, 6n)
  expect([pending(1n), pending(2n)]).toEqual([33n, 3n])
})

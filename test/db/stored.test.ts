import { expect, test } from 'vitest'
import { observationRows } from '../../src/db/index/observations.ts'
import { blockColumns, storedBlock, storedEntity, storedProtocol } from '../../src/db/stored.ts'
import { blockOf, type Plan, seedDeposit, seedEvent, seedPosition, seedToken } from '../support/seed-index.ts'

const plan: Plan = { token: seedToken, rowsABlock: 10, wallets: 7, events: 3 }
const block = blockOf(10n)
const [event, seeded, position] = [seedEvent(2, plan), seedDeposit(3, plan), seedPosition(4, plan)]
const deposit = { ...seeded, seen: { ...seeded.seen, pending: 77n } }
const protocol = {
  fees: {
    ...{ eventCreationFee: 1n, hedgerFeeRate: 2n, hedgerPayoutFeeRate: 3n },
    ...{ lpProfitFeeRate: 4n, creatorLoyaltyRate: 5n },
  },
  ...{ paused: true, total: 6n, loupeHash: blockOf(1n).hash },
}
const rows = observationRows(8453, block, {
  ...{ events: [event.seen], deposits: [deposit.seen], positions: [position.seen], protocol },
})
const factOf = <T extends { readonly kind: string }>({ kind: _, ...fact }: T) => ({ ...fact, chainId: 8453 })

test('a block and its columns are the same', () => {
  expect(blockColumns(block)).toEqual({
    ...{ blockNumber: 10n, blockHash: block.hash, blockTimestamp: block.timestamp },
  })
  expect(storedBlock(blockColumns(block))).toEqual(block)
})

test('an entity that is stored and read has what its views returned, at the block of the observation', () => {
  const [seenEvent, seenDeposit, seenPosition] = [rows.events[0], rows.deposits[0], rows.positions[0]]
  if (!seenEvent || !seenDeposit || !seenPosition) throw new Error('a row is missing')
  expect(storedEntity('event', { ...factOf(event.fact), paymentToken: null }, seenEvent)).toMatchObject({
    ...event.seen,
    observedAt: block,
  })
  expect(storedEntity('deposit', factOf(deposit.fact), seenDeposit)).toMatchObject({
    ...deposit.seen,
    observedAt: block,
  })
  expect(storedEntity('position', factOf(position.fact), seenPosition)).toMatchObject({
    ...position.seen,
    observedAt: block,
  })
})

test('values that are fixed at creation come from the fact, and the token of an event from its observation', () => {
  const [seen] = rows.events
  if (!seen) throw new Error('a row is missing')
  const wrong = { ...seen, strike: 99n, creator: seedToken }
  const stored = storedEntity('event', { ...factOf(event.fact), paymentToken: event.fact.creator }, wrong)
  expect([stored.core.strike, stored.range.strike, stored.core.creator]).toEqual([
    event.fact.strike,
    event.fact.strike,
    event.fact.creator,
  ])
  expect(stored.paymentToken).toBe(event.seen.paymentToken)
})

test('the state of the protocol is stored and read field by field', () => {
  const [row] = rows.protocol
  if (!row) throw new Error('a row is missing')
  expect(storedProtocol(row)).toEqual({ ...protocol, observedAt: block })
  expect(row).toMatchObject({ creationFee: 1n, hedgerFeeRate: 2n, payoutFeeRate: 3n, lpProfitFeeRate: 4n })
  expect(observationRows(8453, block, { events: [], deposits: [], positions: [], protocol: null }).protocol).toEqual([])
})

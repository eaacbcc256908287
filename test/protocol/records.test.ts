import { expect, test } from 'vitest'
import { profiles } from '../../src/protocol/profiles.ts'
import { Deposit, deposit, Position, position, utilization } from '../../src/protocol/records.ts'

const hedger = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

test('claimable premiums are earned minus claimed, whatever the view returns as earned', () => {
  const view = {
    id: 1n,
    eventId: 2n,
    lp: hedger,
    amount: 10n,
    shares: 10n,
    premiumsClaimed: 30n,
    withdrawn: false,
  } as const
  for (const premiumsEarned of [30n, 42n]) {
    const record = Deposit.parse(deposit({ deposit: { ...view, premiumsEarned }, pending: 12n }))
    expect(record).toMatchObject({ premiumsEarned: '42', premiumsClaimed: '30' })
  }
})

test('a payout is 0 until the event is settled, even where the view returns the worst case', () => {
  const view = {
    id: 1n,
    eventId: 2n,
    hedger,
    notional: 10n ** 24n,
    premiumPaid: 1n,
    platformFeePaid: 1n,
    payoutAmount: 500n,
    claimed: false,
  } as const
  expect(Position.parse(position({ position: { ...view, status: 0 } })).payoutAmount).toBe('0')
  expect(Position.parse(position({ position: { ...view, status: 4 } })).payoutAmount).toBe('500')
  expect(position({ position: { ...view, status: 4 } }).notional).toBe('1000000000000000000000000')
})

test('the status of a position has a text, also a number that no deployment returns today', () => {
  const amounts = { notional: 1n, premiumPaid: 1n, platformFeePaid: 1n, payoutAmount: 0n }
  const view = { id: 1n, eventId: 2n, hedger, claimed: false, ...amounts } as const
  const textOf = (status: number) => {
    const record = Position.parse(position({ position: { ...view, status } }))
    expect(record.status).toBe(status)
    return record.statusText
  }
  const texts = ['active', 'settled_win', 'settled_loss', 'claimed', 'claimable', 'expired', 'unknown']
  expect(texts.map((_, status) => textOf(status))).toEqual(texts)
})

test('capacity is notional under both profiles, and 0 when the pool writes none at the block’s time', () => {
  const range = { strike: 12_000_000n, payoutCap: 13_500_000n, initialRate: 11_400_000n, strikeAbove: true }
  const view = { totalLiquidity: 5_000n, totalExposure: 0n, availableCapacity: 1_500n, utilizationPercent: 0n }
  const core = { status: 0, poolOpen: true, expiryDate: 1_000n }
  const event = { core, utilization: view, range, time: 999n }
  expect(utilization(event, profiles.reference).availableCapacity).toBe('1500')
  // floor(11407 * 1.5 / 11.4) = 1500 and 11408 would need 1501.
  expect(utilization(event, profiles.deployed).availableCapacity).toBe('11407')
  for (const none of [{ core: { ...core, status: 1 } }, { core: { ...core, poolOpen: false } }, { time: 1_000n }]) {
    expect(utilization({ ...event, ...none }, profiles.deployed).availableCapacity).toBe('0')
  }
})

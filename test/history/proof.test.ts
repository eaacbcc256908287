import { expect, test } from 'vitest'
import { createFold, type EventLog } from '../../src/protocol/history/fold.ts'
import {
  type EventRecord,
  foldAt,
  foldsAt,
  historyOf,
  historyTo,
  type PastLog,
} from '../../src/protocol/history/history.ts'
import { rulesOf } from '../../src/protocol/history/rules.ts'

const range = { strike: 12_000_000n, payoutCap: 13_500_000n, initialRate: 11_400_000n, strikeAbove: true }
const rates = { creatorLoyaltyRate: 100_000n, lpProfitFeeRate: 20_000n, payoutFeeRate: 10_000n }
const terms = { ...range, expiryDate: 1_000n, allowExternalLp: true, creatorLoyaltyRate: rates.creatorLoyaltyRate }

const log = (type: EventLog['type'], blockNumber: bigint, of: Partial<PastLog>): PastLog => ({
  ...{ type, blockNumber, blockTimestamp: blockNumber * 10n, depositId: null, positionId: null },
  ...{ amount: null, fee: null, args: {}, ...of },
})

const logs = [
  log('deposit.created', 1n, { depositId: 1n, amount: 10_000n, args: { shares: 10_000n } }),
  log('position.created', 2n, { positionId: 1n, amount: 500n, fee: 50n, args: { notional: 20_000n } }),
  log('premiums.claimed', 3n, { depositId: 1n, amount: 500n, fee: 10n }),
  log('event.settled', 101n, { args: { settlementPrice: 13_000_000n, triggered: true } }),
  log('payout.claimed', 102n, { positionId: 1n, amount: (20_000n * 1_000_000n) / 11_400_000n, fee: 17n }),
]

/** An event whose observation at a block is what its logs lead to. */
const recordOf = (changed: Partial<EventRecord> = {}, seenAt = 150n): EventRecord => {
  const fold = createFold(terms, rulesOf.reference[0])
  for (const each of logs) if (each.blockNumber <= seenAt) fold.apply(each)
  const { creatorEarnings, allowExternalLp, ...state } = fold.event(seenAt * 10n)
  const seen = { ...range, ...state, creatorEarnings: creatorEarnings ?? 0n, allowExternalLp: allowExternalLp ?? true }
  return {
    fact: { strike: range.strike, expiryDate: terms.expiryDate },
    seen: { ...seen, blockNumber: seenAt, blockTimestamp: seenAt * 10n },
    ...{ rates, completeTo: 200n, logs, ...changed },
  }
}

const whyOf = (record: EventRecord): string | null => {
  const history = historyOf(record, 'reference')
  return 'why' in history ? history.why : null
}

test('logs that lead to what the views returned are the past of the event, at each block and time', () => {
  const history = historyOf(recordOf(), 'reference')
  if ('why' in history) throw new Error(history.why)
  expect(foldAt(history, 1n).event(0n)).toMatchObject({ totalLiquidity: 10_000n, totalExposure: 0n, settledAt: 0n })
  expect(foldAt(history, 2n).event(0n)).toMatchObject({ totalExposure: 20_000n, creatorEarnings: 5n })
  expect(foldAt(history, 101n).position(1n)).toMatchObject({ status: 4, claimed: false })
  const payouts = [...foldsAt(history, [10n, 19n, 20n, 1_019n, 1_020n])].map(({ fold }) => [
    ...[fold.event(0n).hedgerCount, fold.payouts()],
  ])
  expect(payouts.at(-1)).toEqual([1n, 1_754n])
})

test('states at ascending times have the logs of their own second', () => {
  const history = historyOf(recordOf(), 'reference')
  if ('why' in history) throw new Error(history.why)
  const counts: bigint[] = []
  for (const { fold } of foldsAt(history, [9n, 10n, 19n, 20n]))
    counts.push(fold.event(0n).hedgerCount + fold.event(0n).lpCount)
  expect(counts).toEqual([0n, 1n, 1n, 2n])
})

test('states up to a block have no log of a later block in the same second', () => {
  const together = logs.map((each) => (each.blockNumber === 3n ? { ...each, blockTimestamp: 20n } : each))
  const history = historyOf(recordOf({ logs: together }), 'reference')
  if ('why' in history) throw new Error(history.why)
  const claimed = (upTo: bigint) =>
    [...foldsAt(historyTo(history, upTo), [20n])].map(({ fold }) => fold.deposit(1n)?.premiumsClaimed)
  expect([claimed(2n), claimed(3n)]).toEqual([[0n], [500n]])
})

test('an observation before the last logs is compared at its own block', () => {
  expect(whyOf(recordOf({}, 50n))).toBeNull()
})

test('an observation that is ahead of the ledger is not compared, and the amounts of claims still are', () => {
  const { seen } = recordOf()
  const ahead = { seen: { ...seen, totalLiquidity: 1n }, completeTo: 149n }
  expect(whyOf(recordOf(ahead))).toBeNull()
  expect(whyOf(recordOf({ ...ahead, completeTo: 150n }))).toContain('another totalLiquidity')
  expect(whyOf(recordOf({ ...ahead, logs: logs.toSpliced(1, 1) }))).toContain('does not follow')
})

test('the past is not known where logs are missing, wrong or lead elsewhere', () => {
  expect(whyOf(recordOf({ completeTo: null }))).toBe('the ledger does not have all of its logs')
  const { seen } = recordOf()
  for (const field of ['totalLiquidity', 'totalPremiums', 'totalMaxPayout', 'creatorEarnings'] as const)
    expect(whyOf(recordOf({ seen: { ...seen, [field]: seen[field] + 1n } }))).toContain(`another ${field}`)
  for (const [at, { type }] of logs.entries())
    expect([type, whyOf(recordOf({ logs: logs.toSpliced(at, 1) }))]).toEqual([type, expect.any(String)])
  const wrong = logs.map((each) => (each.type === 'payout.claimed' ? { ...each, amount: 1n } : each))
  expect(whyOf(recordOf({ logs: wrong }, 50n))).toContain('does not follow from the logs before it')
})

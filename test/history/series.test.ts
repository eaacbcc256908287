import { expect, onTestFinished, test, vi } from 'vitest'
import { createFold, type EventLog } from '../../src/protocol/history/fold.ts'
import type { PastLog } from '../../src/protocol/history/history.ts'
import { rulesOf } from '../../src/protocol/history/rules.ts'
import { depositSeries, eventSeries, type SeriesSources } from '../../src/reads/series/series.ts'
import { walletSeries } from '../../src/reads/series/wallet.ts'
import { heldRows, listRow } from '../support/list-sources.ts'
import { seedEvent, seedToken, walletOf } from '../support/seed-index.ts'

/* Series of an event whose logs are given. Blocks 100 and 101 share a second. */

const SECOND = 1_000_000n
const plan = { token: seedToken, wallets: 10, events: 3, rowsABlock: 5 } as const
const { fact, seen } = seedEvent(1, plan)

const log = (type: EventLog['type'], blockNumber: bigint, of: Partial<PastLog>): PastLog => ({
  ...{ type, blockNumber, blockTimestamp: SECOND, depositId: null, positionId: null },
  ...{ amount: null, fee: 0n, args: {}, ...of },
})
const deposit = (id: bigint, blockNumber: bigint): PastLog =>
  log('deposit.created', blockNumber, { depositId: id, amount: 10_000n, args: { shares: 10_000n } })
const buy = (id: bigint, blockNumber: bigint): PastLog =>
  log('position.created', blockNumber, { positionId: id, amount: 500n, args: { notional: 2_000n } })

const block = (number: bigint) => ({ number, hash: `0x${'0'.repeat(64)}` as const, timestamp: SECOND })

/** Sources of an event with these logs, of which a wallet has position 1. The newest block is 101. */
const sourcesOf = (logs: readonly PastLog[], boughtAt = SECOND): SeriesSources => {
  const terms = { ...seen.range, expiryDate: fact.expiryDate, allowExternalLp: true, creatorLoyaltyRate: 0n }
  const fold = createFold(terms, rulesOf.reference[0])
  for (const each of logs) fold.apply(each)
  const record = {
    fact: { ...fact, blockNumber: 90n, blockTimestamp: 900n },
    seen: { ...seen.range, ...fold.event(SECOND), blockNumber: 101n, blockTimestamp: SECOND, paymentToken: seedToken },
    rates: { creatorLoyaltyRate: 0n, lpProfitFeeRate: 0n, payoutFeeRate: 0n },
    ...{ completeTo: 101n, logs },
  }
  const position = {
    ...{
      wallet: 1,
      row: listRow('position', 8453, 1, { blockTimestamp: `${boughtAt}` }),
      feeRate: 0n,
      isClaimable: false,
    },
    figures: [2_000n, 500n, 0n],
  }
  return {
    chains: new Map([[8453, { deployment: { profile: 'reference' }, head: async () => block(101n) }]]),
    ...{ maxLagSeconds: 60 },
    queries: {
      reached: async () => ({ chainId: 8453, block: block(101n), heartbeat: null }),
      deposit: async () => ({ deposit: { eventId: 1n } }),
    },
    history: {
      around: async () => ({ before: block(100n), after: null, tip: block(101n) }),
      events: async () => [record],
      hasUndated: async () => false,
    },
    lists: {
      token: () => ({ token: seedToken, symbol: 'USDC', decimals: 6 }),
      portfolios: { of: async () => heldRows({ position: [position] }) },
    },
  } as unknown as SeriesSources
}

const to = (number: bigint) => ({ from: { seconds: 900n }, to: { block: number } })

test('a series ends with the logs of its last block, without those of later blocks in the same second', async () => {
  const sources = sourcesOf([deposit(1n, 100n), buy(1n, 100n), deposit(2n, 101n), buy(2n, 101n)])
  const last = async (end: bigint) => {
    const event = (await eventSeries(sources, { chainId: 8453, id: 1 }, to(end))).rows.at(-1)
    const own = (await depositSeries(sources, { chainId: 8453, id: 1 }, to(end))).rows.at(-1)
    return [event?.deposits, event?.premiums, own?.premiumsEarned]
  }
  expect(await last(100n)).toEqual([1, '500', '500'])
  expect(await last(101n)).toEqual([2, '1000', '750'])
})

test('a series of changes has no point for a later block in the second of its last one', async () => {
  const times = async (end: bigint) => {
    const query = { ...to(end), interval: 'change' } as const
    const { rows } = await eventSeries(sourcesOf([deposit(1n, 101n)]), { chainId: 8453, id: 1 }, query)
    return rows.map(({ time }) => time)
  }
  expect([await times(100n), await times(101n)]).toEqual([[900], [900, Number(SECOND)]])
})

test('a series of a wallet ends with the logs of its last block', async () => {
  const settled = log('event.settled', 101n, { args: { settlementPrice: 13_000_000n, triggered: true } })
  const sources = sourcesOf([deposit(1n, 100n), buy(1n, 100n), settled])
  const last = async (end: bigint) => {
    const { rows } = await walletSeries(sources, { addr: walletOf(1) }, { ...to(end), chainId: [8453] })
    return [rows.at(-1)?.premiumPaid, rows.at(-1)?.payout !== '0']
  }
  expect(await last(100n)).toEqual(['500', false])
  expect(await last(101n)).toEqual(['500', true])
})

test('other requests are handled between the points of one event in a series of a wallet', async () => {
  let ms = 0
  const clock = vi.spyOn(performance, 'now')
  onTestFinished(() => clock.mockRestore())
  const sources = sourcesOf([deposit(1n, 100n), buy(1n, 100n)], 0n)
  /** The turns of the event loop that other work has during 278 points, each of which takes `each` milliseconds. */
  const turnsWith = async (each: number): Promise<number> => {
    let turns = 0
    let isOver = false
    const others = (): void => {
      turns += 1
      if (!isOver) setImmediate(others)
    }
    clock.mockImplementation(() => {
      ms += each
      return ms
    })
    setImmediate(others)
    const query = { interval: 'hour', chainId: [8453] } as const
    const { rows } = await walletSeries(sources, { addr: walletOf(1) }, query)
    isOver = true
    expect(rows).toHaveLength(278)
    return turns
  }
  const [quick, slow] = [await turnsWith(0.1), await turnsWith(4)]
  expect(quick).toBeLessThan(10)
  expect(slow).toBeGreaterThan(60)
})

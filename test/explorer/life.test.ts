import { describe, expect, it } from 'vitest'
import {
  canClaim,
  depositLife,
  eventOutcome,
  intervalOf,
  outcomeText,
  positionLife,
  positionText,
  resultOf,
  stillToClaim,
} from '../../explorer/src/text/life.ts'

const DAY = 86_400
const EXPIRY = Date.UTC(2026, 9, 3) / 1_000
const token = { chainId: 56, token: '0xaa' as const, symbol: 'USDC', decimals: 6 }

const open = {
  ...{ id: 1, name: 'Cedi', underlying: 'USD/GHS', strike: 12_000000n, payoutCap: 13_500000n, strikeAbove: true },
  ...{ initialRate: 11_400000n, settledAt: 0, triggered: false, settlementPrice: 0n, direction: 'above' as const },
  ...{ expiryDate: EXPIRY, state: 'open' as const },
}
const paid = {
  ...open,
  settledAt: EXPIRY + 300,
  triggered: true,
  settlementPrice: 12_856425n,
  state: 'triggered' as const,
}

const position = {
  ...token,
  ...{
    id: 10,
    eventId: 1,
    hedger: '0xbb' as const,
    notional: 16_128_000000n,
    premiumPaid: 435_000000n,
    platformFeePaid: 2_000000n,
  },
  ...{
    payoutAmount: 0n,
    status: 0,
    statusText: 'active' as const,
    claimed: false,
    createdBlock: 1,
    createdTx: '0x01' as const,
  },
  ...{ createdAt: EXPIRY - 10 * DAY, createdLogIndex: 0, claimedAt: null, claimedTx: null, payout: null },
}
const claimable = {
  ...position,
  ...{ payoutAmount: 1_211_000000n, payout: { gross: 1_211_000000n, fee: 6_000000n, net: 1_205_000000n } },
}
const claimed = { ...claimable, claimed: true, claimedAt: EXPIRY + DAY, claimedTx: '0x03' as const }

const activity = (type: string, blockTimestamp: number, netAmount: bigint | null = null) => ({
  ...token,
  ...{
    type: type as 'unknown',
    blockTimestamp,
    blockNumber: 1,
    blockHash: '0x' as const,
    txHash: `0x${type}` as const,
    logIndex: 0,
  },
  ...{ eventId: 1, depositId: null, positionId: null, wallet: null, direction: null, amount: netAmount, fee: null },
  ...{ netAmount, log: null, args: {} },
})
const settlement = activity('event.settled', EXPIRY + 300)
const recovery = activity('payouts.recovered', EXPIRY + 100 * DAY)

const titles = (steps: readonly { readonly title: string; readonly ahead?: boolean }[]): readonly string[] =>
  steps.map(({ title, ahead }) => (ahead ? `(${title})` : title))

describe('an event', () => {
  const stats = {
    ...{ settledAt: EXPIRY + 300, triggered: true, settlementPrice: 12_856425n, creatorEarnings: 0n },
    ...{ totalLiquidity: 75_000n, totalExposure: 9_000n, totalMaxPayout: 1_000n, totalPremiums: 60n },
    ...{ lpCount: 4, hedgerCount: 6 },
  }

  it('has an outcome from its expiry on', () => {
    const event = { status: 0, expiryDate: EXPIRY, stats }
    expect(eventOutcome(event, EXPIRY - 1)).toBe('')
    expect(eventOutcome(event, EXPIRY)).toBe('It has expired and waits for the rate of the oracles.')
    expect(eventOutcome({ ...event, status: 1 }, EXPIRY)).toBe('Settled at 12.856425: it pays out.')
    const outside = { ...event, status: 1, stats: { ...stats, triggered: false } }
    expect(eventOutcome(outside, EXPIRY)).toBe('Settled at 12.856425: it does not pay.')
  })

  it('has payouts to be claimed until they are claimed or recovered, but for the rounding of its reserve', () => {
    expect(stillToClaim(stats, 400n, false)).toBe(600n)
    expect(stillToClaim(stats, 994n, false)).toBe(6n)
    expect(stillToClaim(stats, 995n, false)).toBe(0n)
    expect(stillToClaim(stats, 400n, true)).toBe(0n)
  })
})

describe('the life of a position', () => {
  it('has the expiry and the settlement ahead while the event is open', () => {
    expect(titles(positionLife(position, open, []))).toEqual([
      'Protection bought',
      '(The event expires)',
      '(Settlement)',
    ])
    expect(titles(positionLife(position, { ...open, state: 'expired' }, []))).toEqual([
      'Protection bought',
      'The event expired',
      '(Settlement)',
    ])
  })

  it('has the settlement with its transaction, and until when the payout is safe', () => {
    const steps = positionLife(claimable, paid, [settlement])
    expect(titles(steps).slice(2)).toEqual(['Settled at 12.856425', '(The payout can be claimed)'])
    expect(steps[2]).toMatchObject({ tx: '0xevent.settled', detail: 'It pays 1,211 USDC before the fee.' })
    expect(steps[3]?.detail).toContain('before 1 Jan 2027')
  })

  it('ends with the claim, with the recovery, or with a settlement outside of the payout zone', () => {
    const last = (...given: Parameters<typeof positionLife>) => positionLife(...given).at(-1)
    expect(last(claimed, paid, [settlement, recovery])).toMatchObject({
      ...{ title: 'Payout claimed', at: EXPIRY + DAY, tx: '0x03' as const },
      detail: 'The wallet received 1,205 USDC.',
    })
    expect(last(claimable, paid, [settlement, recovery])).toMatchObject({ title: 'Payout expired' })
    const outside = { ...paid, triggered: false, state: 'settled' as const }
    expect(last(position, outside, [settlement])?.detail).toBe('Outside of the payout zone: nothing is paid.')
  })
})

describe('a position in words', () => {
  it('states what it protects and its whole cost', () => {
    expect(positionText(position, open)).toBe(
      'Protects 16,128 USDC against USD/GHS above 12 on 3 Oct 2026. It cost 437 USDC.',
    )
  })

  it('states what became of it', () => {
    const outside = { ...paid, triggered: false, state: 'settled' as const }
    expect([
      outcomeText(position, open, []),
      outcomeText(position, { ...open, state: 'expired' }, []),
      outcomeText(position, outside, []),
      outcomeText(claimable, paid, []),
      outcomeText(claimed, paid, []),
      outcomeText(claimable, paid, [recovery]),
    ]).toEqual([
      'The event is open until 3 Oct 2026.',
      'The event has expired and waits for the rate of the oracles.',
      'The event was settled at 12.856425. That is outside of the payout zone, so nothing is paid.',
      'The event was settled at 12.856425. A payout of 1,205 USDC can be claimed.',
      'The event was settled at 12.856425. The payout of 1,205 USDC was claimed.',
      'The event was settled at 12.856425. The payout was not claimed in time, and the protocol has taken it.',
    ])
  })

  it('can be claimed once, and not after the protocol took the payout', () => {
    expect([position, claimable, claimed].map((row) => canClaim(row, [settlement]))).toEqual([false, true, false])
    expect(canClaim(claimable, [recovery])).toBe(false)
  })
})

describe('the life of a deposit', () => {
  const deposit = {
    ...token,
    ...{
      id: 7,
      eventId: 1,
      lp: '0xcc' as const,
      amount: 5_000_000000n,
      shares: 5n,
      premiumsEarned: 0n,
      premiumsClaimed: 0n,
    },
    ...{
      withdrawn: false,
      createdBlock: 1,
      createdTx: '0x01' as const,
      createdAt: EXPIRY - 20 * DAY,
      createdLogIndex: 0,
    },
    ...{ withdrawnAt: null, withdrawnTx: null },
  }

  it('has claims of premiums where they happened', () => {
    const rows = [
      activity('premiums.claimed', EXPIRY + DAY, 9_000000n),
      activity('premiums.claimed', EXPIRY - DAY, 8_000000n),
    ]
    const steps = depositLife(deposit, paid, [...rows, settlement])
    expect(titles(steps)).toEqual([
      ...['Deposited', 'Premiums claimed', 'The event expired', 'Settled at 12.856425', 'Premiums claimed'],
      '(The capital can be withdrawn)',
    ])
    expect(steps[1]?.detail).toBe('The wallet received 8 USDC.')
  })

  it('ends with the withdrawal, also when its time is not known', () => {
    const withdrawn = { ...deposit, withdrawn: true }
    const steps = depositLife(withdrawn, paid, [activity('capital.withdrawn', EXPIRY + DAY, 4_000_000000n)])
    expect(steps.at(-1)).toMatchObject({
      title: 'Capital withdrawn',
      at: null,
      detail: 'The wallet received 4,000 USDC.',
    })
  })

  it('has one result of its premiums and of what payouts took', () => {
    const of = { amount: 5_000_000000n, premiumsEarned: 250_000000n }
    expect(resultOf(of, 5_000_000000n)).toEqual({ amount: 250_000000n, share: 50_000n })
    expect(resultOf(of, 4_000_000000n)).toEqual({ amount: -750_000000n, share: -150_000n })
    expect(resultOf(of, 0n)).toEqual({ amount: -4_750_000000n, share: -950_000n })
    expect([resultOf(of, null), resultOf(of, undefined)]).toEqual([undefined, undefined])
  })

  it('has at most some hundred points in its series', () => {
    expect([DAY, 30 * DAY, 1_000 * DAY].map(intervalOf)).toEqual(['hour', 'day', 'week'])
  })
})

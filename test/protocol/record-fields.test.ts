import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import { oracleConfig, proposal, submissions } from '../../src/protocol/administration.ts'
import { profiles } from '../../src/protocol/profiles.ts'
import * as record from '../../src/protocol/records.ts'
import { seedDeployment } from '../support/seed-index.ts'

const address: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const token: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const most = Number.MAX_SAFE_INTEGER

const core = {
  ...{ id: 1n, creator: address, name: 'Cedi', underlying: 'usd/ghs', strike: 2n, premiumRate: 4n, initialRate: 5n },
  ...{ expiryDate: 2n ** 60n, strikeAbove: true, poolOpen: true, allowExternalLp: false, status: 1 },
} as const
const range = { strike: 2n, payoutCap: 3n, initialRate: 5n, strikeAbove: true }
const settlement = { settledAt: 1n, triggered: false, settlementPrice: 7n }

describe('each field of a record is that of the view', () => {
  it('of the fees', () => {
    const view = {
      ...{ eventCreationFee: 1n, hedgerFeeRate: 2n, hedgerPayoutFeeRate: 3n, lpProfitFeeRate: 4n },
      creatorLoyaltyRate: 5n,
    }
    expect(record.feeConfig(8453, view as never)).toEqual({
      ...{ chainId: 8453, creationFee: '1', hedgerFeeRate: '2', payoutFeeRate: '3', lpProfitFeeRate: '4' },
      creatorLoyaltyRate: '5',
    })
  })

  it('of an event', () => {
    expect(record.eventCore({ core, range, paymentToken: token } as never)).toEqual({
      ...{ id: 1, creator: address, name: 'Cedi', underlying: 'usd/ghs', strike: '2', payoutCap: '3' },
      ...{ premiumRate: '4', initialRate: '5', expiryDate: most, strikeAbove: true, poolOpen: true },
      ...{ allowExternalLp: false, paymentToken: token, status: 1, statusText: 'settled' },
    })
    expect(record.eventRange(range)).toEqual({ strike: '2', payoutCap: '3', initialRate: '5', strikeAbove: true })
  })

  it('of the totals of an event', () => {
    const view = {
      ...{ settledAt: 1n, triggered: true, settlementPrice: 2n, totalLiquidity: 3n, totalExposure: 4n },
      ...{ totalMaxPayout: 5n, totalPremiums: 6n, creatorEarnings: 7n, lpCount: 8n, hedgerCount: 9n },
    }
    expect(record.eventStats(view as never)).toEqual({
      ...{ settledAt: 1, triggered: true, settlementPrice: '2', totalLiquidity: '3', totalExposure: '4' },
      ...{ totalMaxPayout: '5', totalPremiums: '6', creatorEarnings: '7', lpCount: 8, hedgerCount: 9 },
    })
  })

  it('of a position', () => {
    const view = {
      ...{ id: 1n, eventId: 2n, hedger: address, notional: 3n, premiumPaid: 4n, platformFeePaid: 5n },
      ...{ payoutAmount: 6n, status: 3, claimed: true },
    }
    expect(record.position({ position: view } as never)).toEqual({
      ...{ id: 1, eventId: 2, hedger: address, notional: '3', premiumPaid: '4', platformFeePaid: '5' },
      ...{ payoutAmount: '6', status: 3, statusText: 'claimed', claimed: true },
    })
  })

  it('of a chain, whose second token has decimals only when it is configured', () => {
    const deployment = { ...seedDeployment(8453), paymentDecimals: { USDC: 6, USDT: 18 }, publicRpcUrl: 'https://node' }
    expect(record.chainRecord({ ...deployment, usdt: null })).toMatchObject({
      ...{ usdt: null, rpcUrl: 'https://node' },
      paymentDecimals: { USDC: 6 },
    })
    expect(record.chainRecord({ ...deployment, usdt: null }).paymentDecimals).toEqual({ USDC: 6 })
    expect(record.chainRecord({ ...deployment, usdt: token }).paymentDecimals).toEqual({ USDC: 6, USDT: 18 })
  })

  it('of the oracles and a proposal', () => {
    const view = { requiredSigners: 1n, toleranceBps: 2n, oracleCount: 3n, maxOracles: 4n }
    expect(oracleConfig(8453, view as never)).toEqual({
      ...{ chainId: 8453, requiredSigners: 1, toleranceBps: 2, oracleCount: 3, maxOracles: 4 },
    })
    const queued = { status: 2, executeAfter: 9n, initAddress: address, initCalldata: '0x12' }
    expect(proposal(8453, '0xab', queued as never)).toMatchObject({
      ...{ status: 2, statusText: 'executed', executeAfter: 9, initAddress: address, initCalldata: '0x12' },
    })
  })
})

describe('the summary', () => {
  const event = { core: { ...core, expiryDate: 100n }, range, stats: settlement, time: 99n }

  it.each([
    ['settled outside of the zone', {}, 'settled'],
    ['settled in the zone', { triggered: true }, 'triggered'],
    ['not settled', { settledAt: 0n }, 'open'],
    ['not settled at its expiry', { settledAt: 0n }, 'expired', 100n],
    ['settled at a time beyond 2^53', { settledAt: 2n ** 60n }, 'settled'],
  ])('of an event that is %s has its state', (_, changes, state, time = 99n) => {
    expect(record.eventSummary({ ...event, stats: { ...settlement, ...changes }, time }).state).toBe(state)
  })

  it.each([true, false])('has the direction of its strike, above: %s', (strikeAbove) => {
    const summary = record.eventSummary({ ...event, range: { ...range, strikeAbove } })
    expect(summary).toEqual({
      ...{ id: 1, name: 'Cedi', underlying: 'usd/ghs', strike: '2', payoutCap: '3', initialRate: '5', strikeAbove },
      ...{ settledAt: 1, triggered: false, settlementPrice: '7', direction: strikeAbove ? 'above' : 'below' },
      ...{ expiryDate: 100, state: 'settled' },
    })
  })

  it('has terms that the pricing engine takes', () => {
    expect(record.valueTerms(record.eventSummary({ ...event, stats: { ...settlement, settledAt: 0n } }))).toEqual({
      state: 'open',
      range: {
        ...{ pair: 'USD/GHS', strike: '2', payoutCap: '3', initialRate: '5', strikeAbove: true },
        expiryUnixSeconds: 100,
      },
    })
  })
})

/** The same outputs with every integer as its decimal text. */
const asTexts = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? it.toString() : it)))

describe('integers that are decimal texts make the same record as bigints', () => {
  const amounts = [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 128n, 2n ** 256n - 1n]
  it.each(amounts)('of an event with %i as each amount and time', (amount) => {
    const own = { strike: amount, initialRate: amount, strikeAbove: amount % 2n === 0n }
    const event = {
      core: { ...core, ...own, premiumRate: amount, expiryDate: amount, status: 0, allowExternalLp: true },
      range: { ...own, payoutCap: amount },
      paymentToken: token,
      stats: {
        ...{ settledAt: amount, triggered: true, settlementPrice: amount, totalLiquidity: amount },
        ...{ totalExposure: amount, totalMaxPayout: amount, totalPremiums: amount, creatorEarnings: amount },
        ...{ lpCount: amount, hedgerCount: amount },
      },
      utilization: {
        ...{ totalLiquidity: amount, totalExposure: amount, availableCapacity: amount, utilizationPercent: amount },
      },
      time: 1_800_000_000n,
    } as const
    const texts = asTexts(event)
    expect(record.eventCore(texts)).toEqual(record.eventCore(event))
    expect(record.eventRange(texts.range)).toEqual(record.eventRange(event.range))
    expect(record.eventStats(texts.stats)).toEqual(record.eventStats(event.stats))
    expect(record.eventSummary(texts)).toEqual(record.eventSummary(event))
    for (const profile of Object.values(profiles))
      expect(record.utilization(texts, profile)).toEqual(record.utilization(event, profile))
  })

  it.each(amounts)('of a deposit and a position with %i as each amount', (amount) => {
    const member = { id: 7n, eventId: 2n ** 53n - 1n }
    const deposit = {
      deposit: {
        ...{ ...member, lp: address, amount, shares: amount, premiumsEarned: 1n, premiumsClaimed: amount },
        withdrawn: true,
      },
      pending: amount,
    } as const
    expect(record.deposit(asTexts(deposit))).toEqual(record.deposit(deposit))
    expect(record.deposit(asTexts(deposit)).premiumsEarned).toBe(String(amount * 2n))
    for (const status of [record.ACTIVE, 4]) {
      const position = {
        position: {
          ...{ ...member, hedger: address, notional: amount, premiumPaid: amount, platformFeePaid: amount },
          ...{ payoutAmount: amount, status, claimed: false },
        },
      } as const
      expect(record.position(asTexts(position))).toEqual(record.position(position))
    }
  })

  it('of the fees', () => {
    const fees = {
      ...{ eventCreationFee: 2n ** 256n - 1n, hedgerFeeRate: 0n, hedgerPayoutFeeRate: 1n, lpProfitFeeRate: 4n },
      creatorLoyaltyRate: 5n,
    } as const
    expect(record.feeConfig(8453, asTexts(fees))).toEqual(record.feeConfig(8453, fees))
  })

  it.each([2n ** 53n, 2n ** 256n - 1n])('and an id of %i is refused as either', (id) => {
    const event = { core: { ...core, id }, range, paymentToken: token } as const
    for (const given of [event, asTexts(event)]) expect(() => record.eventCore(given)).toThrow('above 2^53 - 1')
  })
})

describe('oracle submissions', () => {
  const view = {
    ...{ oracleAddresses: [address, token] as const, prices: [1n, 2n], timestamps: [3n, 4n] },
    isStale: [false, true],
  } as const

  it('are made from parallel lists', () => {
    expect(submissions(8453, 7, view)).toEqual({
      ...{ chainId: 8453, eventId: 7, count: 2 },
      submissions: [
        { oracle: address, price: '1', timestamp: 3, isStale: false },
        { oracle: token, price: '2', timestamp: 4, isStale: true },
      ],
    })
    expect(submissions(8453, 7, { ...view, prices: [1n, 2n, 3n] }).count).toBe(2)
  })

  it.each(['prices', 'timestamps', 'isStale'] as const)('without as many %s are an upstream error', (name) => {
    expect(() => submissions(8453, 7, { ...view, [name]: view[name].slice(1) })).toThrow('arrays of different lengths')
  })
})

import { maxUint256, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY, exampleEvent, openStage, RATE, type Stage } from '../support/stage.ts'

let stage: Stage
let expiry: number
let snapshot: `0x${string}`

const M = RATE
const SEED = 10_000n * M
const N = 10_000n * M
/** floor(10,000 * 0.027322), its 0.5 % fee, and a tenth of that to the creator. */
const PREMIUM = 273_220_000n
const FEE = 1_366_100n
const LOYALTY = 136_610n

beforeAll(async () => {
  stage = await openStage()
  const { who, usdc, fund } = stage
  for (const each of [who.creator, who.lp, who.hedger, who.hedger2, who.lp2]) await fund(usdc, each, 1_000_000n * M)
  expiry = (await stage.now()) + 30 * DAY
})
afterAll(() => stage.anvil.close())
beforeEach(async () => {
  snapshot = await stage.node.snapshot()
})
afterEach(() => stage.node.revert({ id: snapshot }))

const create = (more: object = {}) =>
  stage.act(stage.who.creator, 'createEvent', exampleEvent(stage.usdc, expiry, more))

/** Settles event 1 by the oracle admin at a rate, right after its expiry. */
const settle = async (rate: bigint, id = 1n) => {
  await stage.warp(expiry)
  return stage.act(stage.who.oracle3, 'settleEvent', id, rate)
}

/** What each address gained while `run` ran. */
const gains = async (addresses: readonly `0x${string}`[], run: () => Promise<unknown>): Promise<bigint[]> => {
  const before = await Promise.all(addresses.map((address) => stage.balance(stage.usdc, address)))
  await run()
  const after = await Promise.all(addresses.map((address) => stage.balance(stage.usdc, address)))
  return after.map((now, at) => now - (before[at] ?? 0n))
}

describe('createEvent', () => {
  test('records the terms, opens the pool, seeds it and takes fee and seed', async () => {
    const { who, diamond, usdc } = stage
    let logs: string[] = []
    const moved = await gains([who.creator, diamond], async () => {
      logs = await create()
    })
    expect(moved).toEqual([-(SEED + 5n * M), SEED + 5n * M])
    expect(logs).toEqual([
      `EventCreated(1, ${who.creator}, USD/GHS, 12000000, 27322, ${expiry}, ${SEED})`,
      `DepositCreated(1, 1, ${who.creator}, ${SEED}, ${SEED})`,
    ])
    expect(await stage.read('getHedgeEventCore', 1n)).toEqual([
      ...[1n, who.creator, 'Cedi protection', 'USD/GHS', 12_000_000n, 27_322n, BigInt(expiry)],
      ...[0, true, true, 11_400_000n, true],
    ])
    expect(await stage.read('getHedgeEventRange', 1n)).toEqual([12_000_000n, 13_500_000n, 11_400_000n, true])
    expect(await stage.read('getHedgeEventStats', 1n)).toEqual([0n, false, 0n, 0n, SEED, 0n, 0n, 1n, 0n, 0n])
    // floor(10,000e6 * 11.4 / 1.5)
    expect(await stage.read('getPoolUtilization', 1n)).toEqual([SEED, 0n, 76_000n * M, 0n])
    expect(await stage.read('getEventDepositIds', 1n)).toEqual([1n])
    expect(await stage.read('getCreatorEventIds', who.creator)).toEqual([1n])
    expect(await stage.read('getPlatformFeesByToken', usdc)).toBe(5n * M)
    expect(await stage.read<string>('getEventPaymentToken', 1n)).toBe(await stage.read('getEventPaymentToken', 1n))
    expect(await stage.read('getEventQuoteSigner', 1n)).toBe(zeroAddress)
    expect(await stage.read('getTotalHedgeEvents')).toBe(1n)
  })

  test('the zero address means the default token', async () => {
    await create({ paymentToken: zeroAddress })
    expect((await stage.read<string>('getEventPaymentToken', 1n)).toLowerCase()).toBe(stage.usdc.toLowerCase())
  })

  test.each([
    [{ name: '' }, 'Bad name length'],
    [{ name: 'x'.repeat(129) }, 'Bad name length'],
    [{ underlying: '' }, 'Bad underlying length'],
    [{ underlying: 'x'.repeat(33) }, 'Bad underlying length'],
    [{ strike: 0n }, 'Strike is zero'],
    [{ initialRate: 0n }, 'Initial rate is zero'],
    [{ initialRate: 2n ** 96n }, 'Rate too large'],
    [{ payoutCap: 2n ** 96n }, 'Rate too large'],
    [{ premiumRate: 0n }, 'Bad premium rate'],
    [{ premiumRate: 1_000_001n }, 'Bad premium rate'],
    [{ expiryDate: 1n }, 'Bad expiry'],
    [{ expiryDate: maxUint256 }, 'Bad expiry'],
    [{ payoutCap: 12_000_000n }, 'Cap on wrong side'],
    [{ payoutCap: 12_500_000n, strikeAbove: false }, 'Cap on wrong side'],
    [{ payoutCap: 0n, strikeAbove: false }, 'Strike on wrong side'],
    [{ payoutCap: 0n, initialRate: 12_000_000n }, 'Strike on wrong side'],
    [{ initialLiquidity: 0n }, 'Amount is zero'],
    [{ initialLiquidity: 2n ** 128n }, 'Amount too large'],
    [{ paymentToken: '0x000000000000000000000000000000000000dEaD' }, 'Token not allowed'],
    [{ initialLiquidity: 2_000_000n * M }, 'Insufficient allowance'],
  ])('%o is refused', async (more, reason) => {
    expect(await stage.refusal(stage.who.creator, 'createEvent', exampleEvent(stage.usdc, expiry, more))).toBe(reason)
  })

  test('an allowance without a balance is refused too', async () => {
    await stage.fund(stage.usdc, stage.who.stranger, 1n, maxUint256)
    expect(await stage.refusal(stage.who.stranger, 'createEvent', exampleEvent(stage.usdc, expiry))).toBe(
      'Insufficient balance',
    )
  })
})

describe('setPoolSettings', () => {
  test('closes and opens; what it closes reverts', async () => {
    const { creator, lp, hedger } = stage.who
    await create()
    expect(await stage.act(creator, 'setPoolSettings', 1n, false, false)).toEqual([
      'PoolSettingsUpdated(1, false, false)',
    ])
    expect(await stage.refusal(lp, 'deposit', 1n, M)).toBe('Pool closed')
    expect(await stage.refusal(creator, 'deposit', 1n, M)).toBe('Pool closed')
    expect(await stage.refusal(hedger, 'buyProtection', 1n, N, N, BigInt(expiry))).toBe('Pool closed')
    await stage.act(creator, 'setPoolSettings', 1n, true, false)
    expect(await stage.refusal(lp, 'deposit', 1n, M)).toBe('External LP not allowed')
    expect(await stage.refusal(creator, 'deposit', 1n, M)).toBe('ok')
    expect(await stage.refusal(lp, 'setPoolSettings', 1n, true, true)).toBe('Not creator')
    expect(await stage.refusal(creator, 'setPoolSettings', 2n, true, true)).toBe('Event not found')
    await settle(M)
    expect(await stage.refusal(creator, 'setPoolSettings', 1n, true, true)).toBe('Event settled')
  })
})

describe('deposit', () => {
  test('adds liquidity and shares', async () => {
    const { lp } = stage.who
    await create()
    let logs: string[] = []
    expect(
      await gains([lp, stage.diamond], async () => {
        logs = await stage.act(lp, 'deposit', 1n, 123_456_789n)
      }),
    ).toEqual([-123_456_789n, 123_456_789n])
    expect(logs).toEqual([`DepositCreated(1, 2, ${lp}, 123456789, 123456789)`])
    expect(await stage.read('getHedgeLpDeposit', 2n)).toEqual([2n, 1n, lp, 123_456_789n, 123_456_789n, 0n, 0n, false])
    expect(await stage.read('getLpDepositIds', lp)).toEqual([2n])
    expect(await stage.refusal(lp, 'deposit', 9n, M)).toBe('Event not found')
    expect(await stage.refusal(lp, 'deposit', 1n, 0n)).toBe('Amount is zero')
    expect(await stage.refusal(stage.who.stranger, 'deposit', 1n, M)).toBe('Insufficient allowance')
    await settle(M)
    expect(await stage.refusal(lp, 'deposit', 1n, M)).toBe('Event settled')
  })

  test('two hundred deposits fit into an event', async () => {
    const { lp } = stage.who
    await create()
    for (let count = 1; count < 200; count++) await stage.send(lp, 'deposit', 1n, 1n)
    expect(await stage.refusal(lp, 'deposit', 1n, 1n)).toBe('Too many deposits')
  })
})

describe('buyProtection', () => {
  test('takes premium and fee, reserves the worst case, and earns LPs and creator their parts', async () => {
    const { hedger, diamond } = { ...stage.who, ...stage }
    await create()
    let logs: string[] = []
    const moved = await gains([hedger, diamond], async () => {
      logs = await stage.act(hedger, 'buyProtection', 1n, N, PREMIUM + FEE, BigInt(expiry))
    })
    expect(moved).toEqual([-(PREMIUM + FEE), PREMIUM + FEE])
    expect(logs).toEqual([`PositionCreated(1, 1, ${hedger}, ${N}, ${PREMIUM}, ${FEE}, ${PREMIUM + FEE})`])
    expect(await stage.read('getHedgePosition', 1n)).toEqual([1n, 1n, hedger, N, PREMIUM, FEE, 0n, 0, false])
    expect(await stage.read('getHedgerPositionIds', hedger)).toEqual([1n])
    expect(await stage.read('getEventPositionIds', 1n)).toEqual([1n])
    expect(await stage.read('getHedgeEventStats', 1n)).toEqual([
      ...[0n, false, 0n, LOYALTY, SEED, N, PREMIUM, 1n, 1n, 1_315_789_473n],
    ])
    expect(await stage.read('pendingPremiums', 1n)).toBe(PREMIUM)
    expect(await stage.read('getPlatformFeesByToken', stage.usdc)).toBe(5n * M + FEE - LOYALTY)
    expect(await stage.read('getHedgePlatformFees')).toBe(5n * M + FEE - LOYALTY)
  })

  test('a deposit earns from later purchases only, by its shares; remainders are carried', async () => {
    const { hedger, lp } = stage.who
    await create()
    await stage.send(hedger, 'buyProtection', 1n, N, N, BigInt(expiry))
    await stage.send(lp, 'deposit', 1n, SEED / 3n)
    expect(await stage.read('pendingPremiums', 2n)).toBe(0n)
    for (let i = 0; i < 3; i++) await stage.send(hedger, 'buyProtection', 1n, 37n * M + 1n, N, BigInt(expiry))
    const later = 3n * (((37n * M + 1n) * 27_322n) / M)
    const [first, second] = [
      await stage.read<bigint>('pendingPremiums', 1n),
      await stage.read<bigint>('pendingPremiums', 2n),
    ]
    expect(second).toBe((later * (SEED / 3n)) / (SEED + SEED / 3n))
    expect(PREMIUM + later - first - second).toBeGreaterThanOrEqual(0n)
    expect(PREMIUM + later - first - second).toBeLessThanOrEqual(2n)
  })

  test('the refusals of the specification, and exactly the capacity', async () => {
    const { hedger, stranger } = stage.who
    await create()
    const now = BigInt(await stage.now())
    const buy = (notional: bigint, maxCost: bigint, deadline = BigInt(expiry), id = 1n) =>
      stage.refusal(hedger, 'buyProtection', id, notional, maxCost, deadline)
    expect(await buy(N, N, now - 1n)).toBe('Past deadline')
    expect(await buy(N, N, BigInt(expiry), 7n)).toBe('Event not found')
    expect(await buy(76_000n * M, N)).toBe('ok')
    expect(await buy(76_000n * M + 1n, N)).toBe('Exceeds capacity')
    expect(await buy(N, PREMIUM + FEE)).toBe('ok')
    expect(await buy(N, PREMIUM + FEE - 1n)).toBe('Cost exceeds maxCost')
    expect(await buy(36n, N)).toBe('Premium rounds to zero')
    expect(await buy(37n, N)).toBe('ok')
    expect(await stage.refusal(stranger, 'buyProtection', 1n, N, N, BigInt(expiry))).toBe('Insufficient allowance')
    await stage.warp(expiry)
    expect(await buy(N, N, maxUint256)).toBe('Event expired')
  })

  test('five hundred positions fit into an event, and it still settles', async () => {
    const { hedger } = stage.who
    await create()
    for (let count = 0; count < 500; count++)
      await stage.send(hedger, 'buyProtection', 1n, 1_000n + BigInt(count), N, BigInt(expiry))
    expect(await stage.refusal(hedger, 'buyProtection', 1n, 1_000n, N, BigInt(expiry))).toBe('Too many positions')
    expect(await settle(13_500_000n)).toEqual(['EventSettled(1, 13500000, true)'])
  })
})

/** Event 1 with a second LP at a half of the seed, one position of the worked example and one twice as large. */
const sold = async (more: object = {}) => {
  const { lp, hedger, hedger2 } = stage.who
  await create(more)
  await stage.send(lp, 'deposit', 1n, SEED / 2n)
  await stage.send(hedger, 'buyProtection', 1n, N, N, BigInt(expiry))
  await stage.send(hedger2, 'buyProtection', 1n, 2n * N, N, BigInt(expiry))
}

describe('settleEvent and payouts', () => {
  test.each([
    [11_999_999n, false, 0n],
    [12_000_000n, true, 0n],
    [12_000_001n, true, 877n],
    [12_500_000n, true, 438_596_491n],
    [13_500_000n, true, 1_315_789_473n],
    [99_000_000n, true, 1_315_789_473n],
  ])('at %d: triggered %s, the worked example pays %d', async (rate, triggered, payout) => {
    const { hedger } = stage.who
    await sold()
    expect(await stage.read('quoteRangePayout', 1n, rate, N)).toBe(payout)
    expect(await settle(rate)).toEqual([`EventSettled(1, ${rate}, ${triggered})`])
    const [, now, at] = await stage.read<[bigint, boolean, bigint]>('getHedgeEventStats', 1n)
    expect([now, at]).toEqual([triggered, BigInt(await stage.now())])
    const [, , , , , , amount, status] = await stage.read<bigint[]>('getHedgePosition', 1n)
    expect([amount, status]).toEqual([payout, payout > 0n ? 4 : 5])
    if (payout === 0n) expect(await stage.refusal(hedger, 'claimPayout', 1n)).toBe('No payout')
  })

  test('downward and single-strike events pay by their own equations', async () => {
    await sold({ strikeAbove: false, strike: 11_000_000n, payoutCap: 10_000_000n })
    for (const [rate, move] of [
      [11_000_001n, 0n],
      [11_000_000n, 0n],
      [10_250_000n, 750_000n],
      [9_000_000n, 1_000_000n],
    ] as const) {
      expect(await stage.read('quoteRangePayout', 1n, rate, N)).toBe((N * move) / 11_400_000n)
    }
    await create({ payoutCap: 0n })
    for (const [rate, move] of [
      [11_999_999n, 0n],
      [12_000_000n, 600_000n],
      [50_000_000n, 600_000n],
    ] as const) {
      expect(await stage.read('quoteRangePayout', 2n, rate, N)).toBe((N * move) / 11_400_000n)
    }
  })

  test('a claim pays once, less the fee, whose tenth is the creator’s', async () => {
    const { hedger, stranger, lp } = stage.who
    await sold()
    expect(await stage.refusal(hedger, 'claimPayout', 1n)).toBe('Event not settled')
    await settle(12_500_000n)
    const earnings = async () => (await stage.read<bigint[]>('getHedgeEventStats', 1n))[3] ?? 0n
    const before = await earnings()
    const gross = 438_596_491n
    const fee = 4_385_964n
    expect(await stage.refusal(stranger, 'claimPayout', 1n)).toBe('Not your position')
    expect(await stage.refusal(hedger, 'claimPayout', 9n)).toBe('Position not found')
    let logs: string[] = []
    expect(
      await gains([hedger, stage.diamond], async () => {
        logs = await stage.act(hedger, 'claimPayout', 1n)
      }),
    ).toEqual([gross - fee, fee - gross])
    expect(logs).toEqual([`PayoutClaimed(1, ${hedger}, ${gross}, ${fee}, ${gross - fee})`])
    expect((await earnings()) - before).toBe(fee / 10n)
    expect(await stage.refusal(hedger, 'claimPayout', 1n)).toBe('Already claimed')
    expect((await stage.read<bigint[]>('getHedgePosition', 1n)).slice(6)).toEqual([gross, 3, true])
    expect(await stage.refusal(lp, 'settleEvent', 1n, M)).toBe('Not oracle admin')
  })

  test('who settles, and when', async () => {
    const { oracle3, owner } = stage.who
    await create()
    expect(await stage.refusal(oracle3, 'settleEvent', 1n, M)).toBe('Event not expired')
    await stage.warp(expiry)
    expect(await stage.refusal(owner, 'settleEvent', 1n, M)).toBe('ok')
    expect(await stage.refusal(oracle3, 'settleEvent', 1n, 0n)).toBe('Price is zero')
    expect(await stage.refusal(oracle3, 'settleEvent', 5n, M)).toBe('Event not found')
    await stage.send(oracle3, 'settleEvent', 1n, M)
    expect(await stage.refusal(oracle3, 'settleEvent', 1n, M)).toBe('Event settled')
    expect(await stage.act(owner, 'activateOracleV2')).toEqual(['OracleV2Activated()'])
    expect(await stage.refusal(oracle3, 'settleEvent', 1n, M)).toBe('Oracle consensus active')
    expect(await stage.refusal(owner, 'activateOracleV2')).toBe('Oracle consensus active')
  })
})

describe('what liquidity earns and gets back', () => {
  test('premiums any time, capital after settlement, once, whoever comes first', async () => {
    const { creator, lp, stranger } = stage.who
    await sold()
    const pending = await stage.read<bigint>('pendingPremiums', 2n)
    expect(pending).toBe(((PREMIUM + 546_440_000n) * 1n) / 3n)
    const fee = (pending * 20_000n) / M
    let logs: string[] = []
    expect(
      await gains([lp], async () => {
        logs = await stage.act(lp, 'claimPremiums', 2n)
      }),
    ).toEqual([pending - fee])
    expect(logs).toEqual([`PremiumsClaimed(2, ${lp}, ${pending}, ${fee}, ${pending - fee})`])
    expect((await stage.read<bigint[]>('getHedgeLpDeposit', 2n)).slice(5, 7)).toEqual([pending, pending])
    expect(await stage.refusal(lp, 'claimPremiums', 2n)).toBe('No premiums')
    expect(await stage.refusal(stranger, 'claimPremiums', 2n)).toBe('Not your deposit')
    expect(await stage.refusal(lp, 'claimPremiums', 9n)).toBe('Deposit not found')
    expect(await stage.refusal(lp, 'withdrawCapital', 2n)).toBe('Event not settled')

    await settle(12_500_000n)
    const left = SEED + SEED / 2n - (3n * N * 500_000n) / 11_400_000n
    expect(await gains([lp], () => stage.send(lp, 'withdrawCapital', 2n))).toEqual([left / 3n])
    expect(await stage.act(creator, 'withdrawCapital', 1n)).toEqual([
      `CapitalWithdrawn(1, ${creator}, ${(left * 2n) / 3n})`,
    ])
    expect(await stage.refusal(lp, 'withdrawCapital', 2n)).toBe('Already withdrawn')
    // Premiums may still be claimed after the capital went.
    expect(await stage.refusal(creator, 'claimPremiums', 1n)).toBe('ok')
  })

  test('the creator’s earnings, once', async () => {
    const { creator, stranger } = stage.who
    await create()
    expect(await stage.refusal(creator, 'withdrawCreatorEarnings', 1n)).toBe('No earnings')
    await stage.send(stage.who.hedger, 'buyProtection', 1n, N, N, BigInt(expiry))
    expect(await stage.refusal(stranger, 'withdrawCreatorEarnings', 1n)).toBe('Not creator')
    let logs: string[] = []
    expect(
      await gains([creator], async () => {
        logs = await stage.act(creator, 'withdrawCreatorEarnings', 1n)
      }),
    ).toEqual([LOYALTY])
    expect(logs).toEqual([`CreatorEarningsWithdrawn(1, ${creator}, ${LOYALTY})`])
    expect(await stage.refusal(creator, 'withdrawCreatorEarnings', 1n)).toBe('No earnings')
  })

  test('after 90 days unclaimed payouts become platform fees', async () => {
    const { owner, hedger, hedger2 } = stage.who
    await sold()
    expect(await stage.refusal(owner, 'recoverExpiredPayouts', 1n)).toBe('Event not settled')
    await settle(12_500_000n)
    await stage.send(hedger, 'claimPayout', 1n)
    await stage.warp(expiry + 89 * DAY)
    expect(await stage.refusal(owner, 'recoverExpiredPayouts', 1n)).toBe('Grace period')
    expect(await stage.refusal(hedger, 'recoverExpiredPayouts', 1n)).toBe('Not owner')
    await stage.warp(expiry + 91 * DAY)
    const reserve = (3n * N * 500_000n) / 11_400_000n - 438_596_491n
    expect(await stage.act(owner, 'recoverExpiredPayouts', 1n)).toEqual([`ExpiredPayoutsRecovered(1, ${reserve})`])
    expect(await stage.refusal(hedger2, 'claimPayout', 2n)).toBe('No payout')
    expect((await stage.read<bigint[]>('getHedgePosition', 2n))[6]).toBe(0n)
    expect(await stage.refusal(owner, 'recoverExpiredPayouts', 1n)).toBe('Already recovered')
    // Capital is shared as before: the reserve never was the LPs'.
    const left = SEED + SEED / 2n - (3n * N * 500_000n) / 11_400_000n
    expect(await gains([stage.who.lp], () => stage.send(stage.who.lp, 'withdrawCapital', 2n))).toEqual([left / 3n])
  })

  test('there is nothing to recover where nothing was reserved', async () => {
    await sold()
    await settle(11_000_000n)
    await stage.warp(expiry + 91 * DAY)
    expect(await stage.refusal(stage.who.owner, 'recoverExpiredPayouts', 1n)).toBe('Nothing to recover')
  })
})

test('an unknown id reads as zeros, and only the payment token reverts', async () => {
  expect((await stage.read<bigint[]>('getHedgeEventCore', 9n))[0]).toBe(0n)
  expect((await stage.read<bigint[]>('getHedgePosition', 9n))[0]).toBe(0n)
  expect((await stage.read<bigint[]>('getHedgeLpDeposit', 9n))[0]).toBe(0n)
  expect(await stage.read('getPoolUtilization', 9n)).toEqual([0n, 0n, 0n, 0n])
  expect(await stage.read('quoteRangePayout', 9n, M, M)).toBe(0n)
  expect(await stage.read('pendingPremiums', 9n)).toBe(0n)
  expect(await stage.refusal(stage.who.owner, 'getEventPaymentToken', 9n)).toBe('Event not found')
})

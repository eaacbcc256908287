import { maxUint256 } from 'viem'
import { expect, inject, test } from 'vitest'
import { DAI, DAY, fees, USDC, useProtocol } from '../support/use-protocol.ts'

const { send, read, refuses, approve, mint, at, mineAt, now, create, buy, settle, ...on } = await useProtocol()
const { creator, lp, hedger, secondHedger, stranger, owner, diamond, dai } = on

test('buyProtection pulls premium and fee, reserves the worst case and records the fee', async () => {
  const id = await create()
  const deadline = (await now()) + 100n
  const { logs, moved } = await send(hedger, 'buyProtection', [id, 10_000_000_001n, 231_150_000n, deadline])
  expect(logs).toEqual([
    [
      'PositionCreated',
      {
        eventId: 1n,
        positionId: 1n,
        hedger,
        notional: 10_000_000_001n,
        premiumPaid: 230_000_000n,
        platformFee: 1_150_000n,
        totalCost: 231_150_000n,
      },
    ],
    ['Transfer', { from: hedger, to: diamond, value: 231_150_000n }],
  ])
  expect(await moved()).toEqual({ hedger: -231_150_000n, diamond: 231_150_000n })

  expect(await read('getHedgePosition', [1n])).toEqual({
    id: 1n,
    eventId: 1n,
    hedger,
    notional: 10_000_000_001n,
    premiumPaid: 230_000_000n,
    platformFeePaid: 1_150_000n,
    payoutAmount: 0n,
    status: 0,
    claimed: false,
  })
  expect(await read('getHedgeEventStats', [id])).toEqual({
    settlementPrice: 0n,
    triggered: false,
    settledAt: 0n,
    creatorEarnings: 115_000n,
    totalLiquidity: 10_000n * USDC,
    totalExposure: 10_000_000_001n,
    totalPremiums: 230_000_000n,
    lpCount: 1n,
    hedgerCount: 1n,
    totalMaxPayout: 1_315_789_473n,
  })
  expect(await read('getPoolUtilization', [id])).toEqual({
    totalLiquidity: 10_000n * USDC,
    totalExposure: 10_000_000_001n,
    availableCapacity: 66_000_000_005n,
    utilizationPercent: 13_157_894n,
  })
  expect(await read('getEventPositionIds', [id])).toEqual([1n])
  expect(await read('getHedgerPositionIds', [hedger])).toEqual([1n])
  expect(await read('getHedgerPositionIds', [creator])).toEqual([])
  expect(await read('pendingPremiums', [1n])).toBe(230_000_000n)
  expect(await read('getPlatformFeesByToken', [on.usdc])).toBe(fees.creationFee + 1_035_000n)
})

test('positions are counted across events and listed by event and hedger', async () => {
  const first = await create()
  const second = await create({ paymentToken: dai, initialLiquidity: 1_000n * DAI })
  await buy(hedger, first, 100n * USDC)
  const { moved } = await buy(secondHedger, second, 100n * DAI)
  await buy(hedger, second, 50n * DAI)
  expect(await moved()).toEqual({})
  expect(await moved(dai)).toEqual({ secondHedger: -2_311_500_000_000_000_000n, diamond: 2_311_500_000_000_000_000n })
  expect(await read('getEventPositionIds', [second])).toEqual([2n, 3n])
  expect(await read('getHedgerPositionIds', [hedger])).toEqual([1n, 3n])
  expect(await read('getHedgerPositionIds', [secondHedger])).toEqual([2n])
})

test('buyProtection enforces the deadline to the second and the cost to the unit', async () => {
  const id = await create()
  const deadline = (await now()) + 60n
  await mineAt(deadline + 1n)
  await refuses('Past deadline', hedger, 'buyProtection', [id, USDC, maxUint256, deadline])
  await refuses('Past deadline', hedger, 'buyProtection', [id, USDC, maxUint256, 0n])

  const cost = 23_115n // premium 23000, fee 115
  await refuses('Cost exceeds maxCost', hedger, 'buyProtection', [id, USDC, cost - 1n, maxUint256])
  await refuses('Cost exceeds maxCost', hedger, 'buyProtection', [id, USDC, 0n, maxUint256])
  await at(deadline + 10n)
  const { moved } = await send(hedger, 'buyProtection', [id, USDC, cost, deadline + 10n])
  expect(await moved()).toEqual({ hedger: -cost, diamond: cost })
})

test('buyProtection is rejected without an event, after expiry, in a closed pool and after settlement', async () => {
  const id = await create()
  const later = await create({ expiryDate: on.start + 60n * DAY })
  const { expiryDate } = await read('getHedgeEventCore', [id])
  const attempt = [id, USDC, maxUint256, maxUint256] as const
  await refuses('Event not found', hedger, 'buyProtection', [9n, USDC, maxUint256, maxUint256])
  await send(creator, 'setPoolSettings', [id, false, true])
  await refuses('Pool closed', hedger, 'buyProtection', attempt)
  // Hedgers may buy while external liquidity is disabled.
  await send(creator, 'setPoolSettings', [id, true, false])

  await at(expiryDate - 1n)
  await send(hedger, 'buyProtection', attempt)
  await mineAt(expiryDate)
  await refuses('Event expired', hedger, 'buyProtection', attempt)
  await settle(later, 11_000_000n)
  await refuses('Event expired', hedger, 'buyProtection', [later, USDC, maxUint256, maxUint256])
})

test('protection with a premium of zero is rejected', async () => {
  const id = await create()
  await refuses('Premium rounds to zero', hedger, 'buyProtection', [id, 43n, maxUint256, maxUint256])
  await refuses('Premium rounds to zero', hedger, 'buyProtection', [id, 0n, maxUint256, maxUint256])
  const { logs } = await buy(hedger, id, 44n)
  expect(logs[0]?.[1]).toMatchObject({ notional: 44n, premiumPaid: 1n, platformFee: 0n, totalCost: 1n })
})

test('protection with a worst-case payout of zero is rejected', async () => {
  // A zone of one millionth: a payout of one unit takes a notional of 11,400,000.
  const id = await create({ payoutCap: 12_000_001n })
  await refuses('Payout rounds to zero', hedger, 'buyProtection', [id, 11_399_999n, maxUint256, maxUint256])
  await buy(hedger, id, 11_400_000n)
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ totalMaxPayout: 1n })
})

test('capacity is zero while the pool is closed and from expiry on, when purchases are rejected', async () => {
  const id = await create()
  const capacity = async () => (await read('getPoolUtilization', [id])).availableCapacity
  const attempt = [id, 76_000n * USDC, maxUint256, maxUint256] as const
  expect(await capacity()).toBe(76_000n * USDC)
  await send(creator, 'setPoolSettings', [id, false, true])
  expect(await capacity()).toBe(0n)
  await refuses('Pool closed', hedger, 'buyProtection', attempt)
  await send(creator, 'setPoolSettings', [id, true, true])
  expect(await capacity()).toBe(76_000n * USDC)

  const { expiryDate } = await read('getHedgeEventCore', [id])
  await mineAt(expiryDate - 1n)
  expect(await capacity()).toBe(76_000n * USDC)
  await refuses('success', hedger, 'buyProtection', attempt)
  await mineAt(expiryDate)
  expect(await capacity()).toBe(0n)
  await refuses('Event expired', hedger, 'buyProtection', attempt)
})

test('buyProtection needs capacity, allowance and balance', async () => {
  const id = await create()
  await refuses('Exceeds capacity', hedger, 'buyProtection', [id, 76_000n * USDC + 1n, maxUint256, maxUint256])
  await refuses('Exceeds capacity', hedger, 'buyProtection', [id, maxUint256, maxUint256, maxUint256])
  await approve(hedger, 23_114n)
  await refuses('Insufficient allowance', hedger, 'buyProtection', [id, USDC, maxUint256, maxUint256])
  await approve(hedger, 23_115n)
  await send(hedger, 'buyProtection', [id, USDC, maxUint256, maxUint256])
  await approve(stranger, maxUint256)
  await mint(stranger, 23_114n)
  await refuses('Insufficient balance', stranger, 'buyProtection', [id, USDC, maxUint256, maxUint256])
})

test.runIf(inject('form') === 'long')(
  'an event accepts five hundred positions, and each is still covered to the unit',
  async () => {
    const id = await create()
    for (let count = 0; count < 500; count += 1) await buy(count % 2 === 0 ? hedger : secondHedger, id, 1_000_003n)
    await refuses('Too many positions', hedger, 'buyProtection', [id, USDC, maxUint256, maxUint256])
    expect(await read('getEventPositionIds', [id])).toHaveLength(500)
    expect(await read('getHedgeEventStats', [id])).toMatchObject({ totalMaxPayout: 500n * 131_579n, hedgerCount: 500n })

    // 43 859.78 each: rounding the sum down gives more than the sum of the rounded amounts.
    const { gasUsed } = await settle(id, 12_500_000n)
    expect(gasUsed).toBeLessThan(200_000n)
    const { totalMaxPayout } = await read('getHedgeEventStats', [id])
    expect(totalMaxPayout).toBe((500n * 1_000_003n * 500_000n) / 11_400_000n)
    expect(totalMaxPayout).toBeGreaterThan(500n * 43_859n)
  },
)

test('claimPayout pays the payout less its fee, once, to the hedger', async () => {
  const id = await create()
  await buy(hedger, id, 10_000n * USDC)
  await buy(secondHedger, id, 1_000n * USDC)
  await refuses('Event not settled', hedger, 'claimPayout', [1n])
  await settle(id, 12_500_000n)
  expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: 438_596_491n, status: 4, claimed: false })
  await refuses('Position not found', hedger, 'claimPayout', [3n])
  await refuses('Position not found', hedger, 'claimPayout', [0n])
  for (const other of [secondHedger, owner, creator]) await refuses('Not your position', other, 'claimPayout', [1n])

  const { logs, moved } = await send(hedger, 'claimPayout', [1n])
  expect(logs).toEqual([
    ['PayoutClaimed', { positionId: 1n, hedger, grossPayout: 438_596_491n, fee: 4_385_964n, netPayout: 434_210_527n }],
    ['Transfer', { from: diamond, to: hedger, value: 434_210_527n }],
  ])
  expect(await moved()).toEqual({ hedger: 434_210_527n, diamond: -434_210_527n })
  expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: 438_596_491n, status: 3, claimed: true })
  expect(await read('getHedgePosition', [2n])).toMatchObject({ payoutAmount: 43_859_649n, status: 4, claimed: false })
  // Claims do not lower the reserved amount: withdrawals must not depend on them.
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ totalMaxPayout: 482_456_140n })
  // A tenth of each fee: 115 000 + 11 500 of the purchases and 438 596 of the payout.
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ creatorEarnings: 565_096n })
  await refuses('Already claimed', hedger, 'claimPayout', [1n])
})

test.each([
  ['outside the zone', 11_999_999n, false],
  ['at the strike', 12_000_000n, true],
])('claimPayout is rejected %s', async (_where, price, triggered) => {
  const id = await create()
  await buy(hedger, id, 10_000n * USDC)
  await settle(id, price)
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ triggered, totalMaxPayout: 0n })
  expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: 0n, status: 5, claimed: false })
  await refuses('No payout', hedger, 'claimPayout', [1n])
  expect(await (await send(creator, 'withdrawCapital', [1n])).moved()).toMatchObject({ creator: 10_000n * USDC })
})

test('a payout that rounds to zero cannot be claimed', async () => {
  const id = await create()
  await buy(hedger, id, 44n)
  await settle(id, 12_000_001n)
  await refuses('No payout', hedger, 'claimPayout', [1n])
})

test('unknown ids read as zeros', async () => {
  const id = await create()
  await buy(hedger, id, USDC)
  const nobody = '0x0000000000000000000000000000000000000000'
  const position = { id: 0n, eventId: 0n, hedger: nobody, notional: 0n, premiumPaid: 0n, platformFeePaid: 0n }
  const deposit = { id: 0n, eventId: 0n, lp: nobody, amount: 0n, shares: 0n, premiumsEarned: 0n, premiumsClaimed: 0n }
  for (const unknown of [0n, 2n, maxUint256]) {
    expect(await read('getHedgePosition', [unknown])).toEqual({
      ...position,
      payoutAmount: 0n,
      status: 0,
      claimed: false,
    })
    expect(await read('getHedgeLpDeposit', [unknown])).toEqual({ ...deposit, withdrawn: false })
    expect(await read('pendingPremiums', [unknown])).toBe(0n)
    expect(await read('getHedgeEventCore', [unknown])).toMatchObject({ id: 0n, creator: nobody, name: '' })
    expect(Object.values(await read('getHedgeEventRange', [unknown]))).toEqual([0n, 0n, 0n, false])
    expect(Object.values(await read('getHedgeEventStats', [unknown])).every((value) => !value)).toBe(true)
    expect(Object.values(await read('getPoolUtilization', [unknown]))).toEqual([0n, 0n, 0n, 0n])
    expect(await read('getEventPositionIds', [unknown])).toEqual([])
    expect(await read('getEventDepositIds', [unknown])).toEqual([])
    expect(await read('quoteRangePayout', [unknown, 12_500_000n, USDC])).toBe(0n)
    expect(await read('getEventQuoteSigner', [unknown])).toBe(nobody)
    expect(Object.values(await read('getAllSubmissions', [unknown]))).toEqual([[], [], [], []])
  }
  await expect(read('getEventPaymentToken', [2n])).rejects.toThrow('Event not found')
  expect(await read('getHedgerPositionIds', [stranger])).toEqual([])
  expect(await read('getLpDepositIds', [lp])).toEqual([])
})

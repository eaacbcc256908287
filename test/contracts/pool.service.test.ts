import { maxUint256 } from 'viem'
import { expect, test } from 'vitest'
import { DAY, fees, USDC, useProtocol } from '../support/use-protocol.ts'

const { send, read, refuses, approve, mint, mineAt, create, buy, settle, transact, ...on } = await useProtocol()
const { creator, lp, secondLp, hedger, stranger, owner, diamond, usdc } = on

test('deposit adds liquidity, one share per unit, and pulls exactly the amount', async () => {
  const id = await create()
  const { logs, moved } = await send(lp, 'deposit', [id, 5_000n * USDC + 1n])
  expect(logs).toEqual([
    ['DepositCreated', { eventId: 1n, depositId: 2n, lp, amount: 5_000n * USDC + 1n, shares: 5_000n * USDC + 1n }],
    ['Transfer', { from: lp, to: diamond, value: 5_000n * USDC + 1n }],
  ])
  expect(await moved()).toEqual({ lp: -5_000n * USDC - 1n, diamond: 5_000n * USDC + 1n })
  expect(await read('getHedgeLpDeposit', [2n])).toEqual({
    id: 2n,
    eventId: 1n,
    lp,
    amount: 5_000n * USDC + 1n,
    shares: 5_000n * USDC + 1n,
    premiumsEarned: 0n,
    premiumsClaimed: 0n,
    withdrawn: false,
  })
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ totalLiquidity: 15_000n * USDC + 1n, lpCount: 2n })
  expect(await read('getPoolUtilization', [id])).toMatchObject({
    totalLiquidity: 15_000n * USDC + 1n,
    availableCapacity: 114_000n * USDC + 7n,
  })
  expect(await read('getEventDepositIds', [id])).toEqual([1n, 2n])
  expect(await read('getLpDepositIds', [lp])).toEqual([2n])
})

test('deposit is rejected for an event that is unknown, closed, closed to the caller, or settled, and for no amount', async () => {
  const id = await create()
  await refuses('Event not found', lp, 'deposit', [2n, USDC])
  await refuses('Event not found', lp, 'deposit', [0n, USDC])
  await refuses('Amount is zero', lp, 'deposit', [id, 0n])

  await send(creator, 'setPoolSettings', [id, true, false])
  await refuses('External LP not allowed', lp, 'deposit', [id, USDC])
  await send(creator, 'deposit', [id, USDC])

  await send(creator, 'setPoolSettings', [id, false, true])
  await refuses('Pool closed', lp, 'deposit', [id, USDC])
  await refuses('Pool closed', creator, 'deposit', [id, USDC])

  await send(creator, 'setPoolSettings', [id, true, true])
  await settle(id, 11_000_000n)
  await refuses('Event settled', lp, 'deposit', [id, USDC])
})

test('deposit is accepted past expiry, until the settlement', async () => {
  const id = await create()
  await mineAt((await read('getHedgeEventCore', [id])).expiryDate + DAY)
  await send(lp, 'deposit', [id, USDC])
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ totalLiquidity: 10_001n * USDC, lpCount: 2n })
})

test('deposit needs allowance and balance', async () => {
  const id = await create()
  await approve(lp, 7n * USDC - 1n)
  await refuses('Insufficient allowance', lp, 'deposit', [id, 7n * USDC])
  await send(lp, 'deposit', [id, 7n * USDC - 1n])
  await approve(stranger, maxUint256)
  await mint(stranger, USDC - 1n)
  await refuses('Insufficient balance', stranger, 'deposit', [id, USDC])
})

test('an event holds at most 128 bits of liquidity, so that its shares never overflow', async () => {
  const id = await create()
  const most = 2n ** 128n - 1n - 10_000n * USDC
  await mint(lp, most + 1n)
  await refuses('Amount too large', lp, 'deposit', [id, most + 1n])
  await refuses('Amount too large', lp, 'deposit', [id, maxUint256])
  await send(lp, 'deposit', [id, most])
  await refuses('Amount too large', secondLp, 'deposit', [id, 1n])

  await buy(hedger, id, 1_000n * USDC)
  await settle(id, 13_500_000n)
  const { moved } = await send(lp, 'withdrawCapital', [2n])
  expect(Object.keys(await moved())).toEqual(['lp', 'diamond'])
})

test('an event accepts two hundred deposits', async () => {
  const id = await create()
  for (let count = 1; count < 200; count += 1) await send(lp, 'deposit', [id, 1n])
  await refuses('Too many deposits', lp, 'deposit', [id, 1n])
  expect(await read('getEventDepositIds', [id])).toHaveLength(200)
  // Another event has its own count.
  const other = await create()
  await send(lp, 'deposit', [other, 1n])
})

test('setPoolSettings sets both switches, also past expiry', async () => {
  const id = await create()
  const { logs } = await send(creator, 'setPoolSettings', [id, false, true])
  expect(logs).toEqual([['PoolSettingsUpdated', { eventId: 1n, poolOpen: false, allowExternalLp: true }]])
  expect(await read('getHedgeEventCore', [id])).toMatchObject({ poolOpen: false, allowExternalLp: true })

  await mineAt((await read('getHedgeEventCore', [id])).expiryDate + 1n)
  await send(creator, 'setPoolSettings', [id, true, false])
  expect(await read('getHedgeEventCore', [id])).toMatchObject({ poolOpen: true, allowExternalLp: false })
})

test('only the creator may call setPoolSettings, until settlement', async () => {
  const id = await create()
  await refuses('Event not found', creator, 'setPoolSettings', [2n, true, true])
  for (const other of [lp, owner, stranger]) await refuses('Not creator', other, 'setPoolSettings', [id, false, false])
  await settle(id, 11_000_000n)
  await refuses('Event settled', creator, 'setPoolSettings', [id, false, false])
})

test('claimPremiums pays the premiums earned since the last claim, less the LP fee', async () => {
  const id = await create()
  await send(lp, 'deposit', [id, 30_000n * USDC])
  // 230 of premium over 40 000 shares: 57.5 and 172.5.
  await buy(hedger, id, 10_000n * USDC)
  expect(await read('pendingPremiums', [1n])).toBe(57_500_000n)
  expect(await read('pendingPremiums', [2n])).toBe(172_500_000n)

  const before = await read('getHedgePlatformFees')
  const first = await send(lp, 'claimPremiums', [2n])
  expect(first.logs).toEqual([
    ['PremiumsClaimed', { depositId: 2n, lp, grossAmount: 172_500_000n, fee: 3_450_000n, netAmount: 169_050_000n }],
    ['Transfer', { from: diamond, to: lp, value: 169_050_000n }],
  ])
  expect(await first.moved()).toEqual({ lp: 169_050_000n, diamond: -169_050_000n })
  expect(await read('pendingPremiums', [2n])).toBe(0n)
  expect(await read('pendingPremiums', [1n])).toBe(57_500_000n)
  expect(await read('getHedgeLpDeposit', [2n])).toMatchObject({
    amount: 30_000n * USDC,
    premiumsEarned: 172_500_000n,
    premiumsClaimed: 172_500_000n,
    withdrawn: false,
  })
  // The creator gets a tenth of the fee: of the hedger's 1.15 and of the LP's 3.45.
  expect(await read('getHedgePlatformFees')).toBe(before + 3_105_000n)
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ creatorEarnings: 115_000n + 345_000n })
  await refuses('No premiums', lp, 'claimPremiums', [2n])

  await buy(hedger, id, 1_000n * USDC)
  expect(await read('getHedgeLpDeposit', [2n])).toMatchObject({
    premiumsEarned: 189_750_000n,
    premiumsClaimed: 172_500_000n,
  })
  expect(await (await send(lp, 'claimPremiums', [2n])).moved()).toEqual({ lp: 16_905_000n, diamond: -16_905_000n })
})

test('a deposit earns only from later purchases, and sharing assigns every unit', async () => {
  const id = await create({
    initialLiquidity: 7n,
    strike: 11_400_001n,
    payoutCap: 12_700_001n,
    premiumRate: 1_000_000n,
  })
  await buy(hedger, id, 10n)
  await send(lp, 'deposit', [id, 3n])
  expect(await read('pendingPremiums', [1n])).toBe(9n)
  expect(await read('pendingPremiums', [2n])).toBe(0n)
  // 10/7 and 11/10 a share; the remainder of the first division is carried into the second.
  await buy(hedger, id, 11n)
  expect(await read('pendingPremiums', [1n])).toBe(17n)
  expect(await read('pendingPremiums', [2n])).toBe(3n)
})

test('only the LP may call claimPremiums, even after settlement, withdrawal and pause', async () => {
  const id = await create()
  await refuses('Deposit not found', creator, 'claimPremiums', [2n])
  await refuses('Deposit not found', creator, 'claimPremiums', [0n])
  await refuses('Not your deposit', lp, 'claimPremiums', [1n])
  await refuses('Not your deposit', owner, 'claimPremiums', [1n])
  await refuses('No premiums', creator, 'claimPremiums', [1n])
  await buy(hedger, id, 10_000n * USDC)
  await settle(id, 11_000_000n)
  await send(creator, 'withdrawCapital', [1n])
  await send(owner, 'pause', [])
  const { moved } = await send(creator, 'claimPremiums', [1n])
  expect(await moved()).toEqual({ creator: 225_400_000n, diamond: -225_400_000n })
})

test('withdrawCapital returns every deposit in full when no payout was made', async () => {
  const id = await create()
  await send(lp, 'deposit', [id, 5_000n * USDC])
  await buy(hedger, id, 10_000n * USDC)
  await refuses('Event not settled', lp, 'withdrawCapital', [2n])
  await settle(id, 11_999_999n)

  const { logs, moved } = await send(lp, 'withdrawCapital', [2n])
  expect(logs).toEqual([
    ['CapitalWithdrawn', { depositId: 2n, lp, amount: 5_000n * USDC }],
    ['Transfer', { from: diamond, to: lp, value: 5_000n * USDC }],
  ])
  expect(await moved()).toEqual({ lp: 5_000n * USDC, diamond: -5_000n * USDC })
  expect(await read('getHedgeLpDeposit', [2n])).toMatchObject({ withdrawn: true, amount: 5_000n * USDC })
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ totalLiquidity: 15_000n * USDC, lpCount: 2n })
  await refuses('Already withdrawn', lp, 'withdrawCapital', [2n])
  await refuses('Deposit not found', lp, 'withdrawCapital', [3n])
  await refuses('Not your deposit', lp, 'withdrawCapital', [1n])
})

test('withdrawCapital shares the capital after payouts, in any order and whether or not they were claimed', async () => {
  const id = await create()
  await send(lp, 'deposit', [id, 5_000n * USDC])
  await buy(hedger, id, 10_000n * USDC)
  // 438.596491 of 15 000 go to the hedger: two thirds and one third of 14 561.403509 remain.
  await settle(id, 12_500_000n)
  expect(await (await send(lp, 'withdrawCapital', [2n])).moved()).toMatchObject({ lp: 4_853_801_169n })
  await send(hedger, 'claimPayout', [1n])
  expect(await (await send(creator, 'withdrawCapital', [1n])).moved()).toMatchObject({ creator: 9_707_602_339n })
})

test('withdrawCapital pays nothing from a pool that the payouts use up', async () => {
  const id = await create()
  await buy(hedger, id, 76_000n * USDC)
  await settle(id, 13_500_000n)
  const { logs, moved } = await send(creator, 'withdrawCapital', [1n])
  expect(logs[0]).toEqual(['CapitalWithdrawn', { depositId: 1n, lp: creator, amount: 0n }])
  expect(await moved()).toEqual({})
  expect(await (await send(hedger, 'claimPayout', [1n])).moved()).toEqual({
    hedger: 9_900n * USDC,
    diamond: -9_900n * USDC,
  })
})

test('withdrawCreatorEarnings pays exactly the loyalty share of all three fees', async () => {
  const id = await create()
  await refuses('No earnings', creator, 'withdrawCreatorEarnings', [id])
  await refuses('Event not found', creator, 'withdrawCreatorEarnings', [2n])
  await buy(hedger, id, 10_000n * USDC) // fee 1.15
  await send(creator, 'claimPremiums', [1n]) // fee 4.60
  await settle(id, 13_500_000n)
  await send(hedger, 'claimPayout', [1n]) // fee 13.157894
  for (const other of [lp, owner, hedger]) await refuses('Not creator', other, 'withdrawCreatorEarnings', [id])

  const { logs, moved } = await send(creator, 'withdrawCreatorEarnings', [id])
  const amount = 115_000n + 460_000n + 1_315_789n
  expect(logs).toEqual([
    ['CreatorEarningsWithdrawn', { eventId: 1n, creator, amount }],
    ['Transfer', { from: diamond, to: creator, value: amount }],
  ])
  expect(await moved()).toEqual({ creator: amount, diamond: -amount })
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ creatorEarnings: 0n })
  expect(await read('getHedgePlatformFees')).toBe(fees.creationFee + 1_035_000n + 4_140_000n + 11_842_105n)
  await refuses('No earnings', creator, 'withdrawCreatorEarnings', [id])
})

test('a token that fails to pay leaves the accounts unchanged', async () => {
  const id = await create()
  await buy(hedger, id, 10_000n * USDC)
  const code = await on.client.getCode({ address: usdc })
  // PUSH0 PUSH0 REVERT, a contract that answers `false`, and no code at all.
  await on.client.setCode({ address: usdc, bytecode: '0x5f5ffd' })
  await refuses('Token transfer failed', creator, 'claimPremiums', [1n])
  await on.client.setCode({ address: usdc, bytecode: '0x5f5f5260205ff3' })
  await refuses('Token transfer failed', creator, 'claimPremiums', [1n])
  await on.client.setCode({ address: usdc, bytecode: '0x' })
  await refuses('Token has no code', creator, 'claimPremiums', [1n])
  await on.client.setCode({ address: usdc, bytecode: code ?? '0x' })
  await send(creator, 'claimPremiums', [1n])
})

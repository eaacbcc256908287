import { maxUint256, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { DAI, DAY, fees, USDC, useProtocol } from '../support/use-protocol.ts'

const { send, read, refuses, outcome, at, mineAt, create, buy, settle, mint, client, ...on } = await useProtocol()
const { owner, oracleAdmin, oracleA, creator, lp, hedger, secondHedger, stranger, heir, diamond, usdc, dai } = on

test('every function of the owner rejects other callers', async () => {
  for (const other of [oracleAdmin, oracleA, creator, lp, stranger]) {
    await refuses('Not owner', other, 'initializeHedgeFees', [0n, 0n, 0n, 0n, 0n])
    await refuses('Not owner', other, 'pause', [])
    await refuses('Not owner', other, 'unpause', [])
    await refuses('Not owner', other, 'activateOracleV2', [])
    await refuses('Not owner', other, 'setOracleAdmin', [other])
    await refuses('Not owner', other, 'setPricingEngineSigner', [other])
    await refuses('Not owner', other, 'withdrawPlatformFees', [1n])
    await refuses('Not owner', other, 'withdrawPlatformFeesByToken', [usdc, 1n])
    await refuses('Not owner', other, 'rescueETH', [other])
    await refuses('Not owner', other, 'rescueERC20', [other, other])
    await refuses('Not owner', other, 'setAllowedPaymentToken', [other, true])
    await refuses('Not owner', other, 'recoverExpiredPayouts', [1n])
  }
})

test('initializeHedgeFees sets the five fees and logs them', async () => {
  const { logs } = await send(owner, 'initializeHedgeFees', [1n, 2n, 3n, 4n, 5n])
  const config = {
    eventCreationFee: 1n,
    hedgerFeeRate: 2n,
    hedgerPayoutFeeRate: 3n,
    lpProfitFeeRate: 4n,
    creatorLoyaltyRate: 5n,
  }
  expect(logs).toEqual([['FeesInitialized', config]])
  expect(await read('getHedgeFeeConfig')).toEqual(config)
  expect(await read('isFeesInitialized')).toBe(true)
})

test('initializeHedgeFees has separate bounds for each fee', async () => {
  const most = [1_000n * USDC, 100_000n, 100_000n, 100_000n, 500_000n] as const
  expect(await outcome(owner, 'initializeHedgeFees', most)).toBe('success')
  const [creation, hedgerRate, payout, profit, loyalty] = most
  const set = (...args: [bigint, bigint, bigint, bigint, bigint]) => outcome(owner, 'initializeHedgeFees', args)
  expect(await set(creation + 1n, hedgerRate, payout, profit, loyalty)).toBe('Creation fee too high')
  expect(await set(creation, hedgerRate + 1n, payout, profit, loyalty)).toBe('Fee rate too high')
  expect(await set(creation, hedgerRate, payout + 1n, profit, loyalty)).toBe('Fee rate too high')
  expect(await set(creation, hedgerRate, payout, profit + 1n, loyalty)).toBe('Fee rate too high')
  expect(await set(creation, hedgerRate, payout, profit, loyalty + 1n)).toBe('Loyalty rate too high')
  // A rate that would lose its upper bits in storage.
  expect(await set(0n, 2n ** 32n, 0n, 0n, 0n)).toBe('Fee rate too high')
})

test('the creation fee is at most a thousand whole tokens of an event’s own token', async () => {
  // The default token has 6 decimals: the same raw amount is almost nothing in a token with 18.
  await send(owner, 'initializeHedgeFees', [1_000n * USDC, 0n, 0n, 0n, 0n])
  await create()
  await create({ paymentToken: dai, initialLiquidity: 100n * DAI })

  // Two decimals: 1000 whole tokens are 100,000 raw units.
  const cents = await on.deploy('TestToken', ['Cents', 'CTS', 2])
  await mint(creator, 1_000_000_000n, cents)
  await on.approve(creator, maxUint256, cents)
  await send(owner, 'setAllowedPaymentToken', [cents, true])
  const inCents = on.newEvent({ paymentToken: cents })
  await refuses('Creation fee too high', creator, 'createEvent', [{ ...inCents, initialLiquidity: 100n }])
  await send(owner, 'initializeHedgeFees', [100_001n, 0n, 0n, 0n, 0n])
  await refuses('Creation fee too high', creator, 'createEvent', [{ ...inCents, initialLiquidity: 100n }])
  await send(owner, 'initializeHedgeFees', [100_000n, 0n, 0n, 0n, 0n])
  await create({ paymentToken: cents, initialLiquidity: 100n })
})

test('a payment token must return its decimals, at most 36', async () => {
  const tooMany = await on.deploy('TestToken', ['Fine', 'FNE', 37])
  await refuses('Bad token decimals', owner, 'setAllowedPaymentToken', [tooMany, true])
  for (const address of [diamond, stranger]) {
    await refuses('Bad token decimals', owner, 'setAllowedPaymentToken', [address, true])
  }
  // Delisting does not call the token.
  await refuses('success', owner, 'setAllowedPaymentToken', [stranger, false])
})

test('an event keeps the rates of its creation, and pays the creation fee of that day', async () => {
  const old = await create()
  await send(owner, 'initializeHedgeFees', [7n * USDC, 100_000n, 100_000n, 100_000n, 500_000n])
  const created = await send(creator, 'createEvent', [on.newEvent()])
  expect(await created.moved()).toEqual({ creator: -10_007n * USDC, diamond: 10_007n * USDC })

  for (const [id, hedgerFee, lpFee, loyalty] of [
    [old, 1_150_000n, 4_600_000n, 10n],
    [2n, 23_000_000n, 23_000_000n, 2n],
  ] as const) {
    const bought = await buy(hedger, id, 10_000n * USDC)
    expect(bought.logs[0]?.[1]).toMatchObject({ premiumPaid: 230_000_000n, platformFee: hedgerFee })
    const premiums = await send(creator, 'claimPremiums', [id])
    expect(premiums.logs[0]?.[1]).toMatchObject({ grossAmount: 230_000_000n, fee: lpFee })
    expect(await read('getHedgeEventStats', [id])).toMatchObject({
      creatorEarnings: hedgerFee / loyalty + lpFee / loyalty,
    })
  }
  await settle(old, 13_500_000n)
  await send(oracleAdmin, 'settleEvent', [2n, 13_500_000n])
  expect((await send(hedger, 'claimPayout', [1n])).logs[0]?.[1]).toMatchObject({ fee: 13_157_894n })
  expect((await send(hedger, 'claimPayout', [2n])).logs[0]?.[1]).toMatchObject({ fee: 131_578_947n })
})

test('settleEvent settles from expiry on, by the oracle admin or the owner', async () => {
  const id = await create()
  await buy(hedger, id, 10_000n * USDC)
  const { expiryDate } = await read('getHedgeEventCore', [id])
  await mineAt(expiryDate - 1n)
  await refuses('Event not expired', oracleAdmin, 'settleEvent', [id, 12_500_000n])
  await mineAt(expiryDate)
  await refuses('Event not found', oracleAdmin, 'settleEvent', [2n, 12_500_000n])
  await refuses('Price is zero', oracleAdmin, 'settleEvent', [id, 0n])
  for (const other of [oracleA, creator, stranger]) {
    await refuses('Not oracle admin', other, 'settleEvent', [id, 12_500_000n])
  }
  expect(await outcome(owner, 'settleEvent', [id, maxUint256])).toBe('success')

  const { logs, moved, time } = await send(oracleAdmin, 'settleEvent', [id, 12_500_000n])
  expect(logs).toEqual([['EventSettled', { eventId: 1n, settlementPrice: 12_500_000n, triggered: true }]])
  expect(await moved()).toEqual({})
  expect(await read('getHedgeEventStats', [id])).toMatchObject({
    settlementPrice: 12_500_000n,
    triggered: true,
    settledAt: await time(),
    totalMaxPayout: 438_596_491n,
    totalExposure: 10_000n * USDC,
  })
  expect(await read('getHedgeEventCore', [id])).toMatchObject({ status: 1 })
  expect(await read('getPoolUtilization', [id])).toEqual({
    totalLiquidity: 10_000n * USDC,
    totalExposure: 10_000n * USDC,
    availableCapacity: 0n,
    utilizationPercent: 4_385_964n,
  })
  await refuses('Event settled', oracleAdmin, 'settleEvent', [id, 1n])
})

test('the oracle admin can be replaced or removed', async () => {
  const id = await create()
  expect((await send(owner, 'setOracleAdmin', [heir])).logs).toEqual([['OracleAdminSet', { admin: heir }]])
  await mineAt((await read('getHedgeEventCore', [id])).expiryDate)
  await refuses('Not oracle admin', oracleAdmin, 'settleEvent', [id, 1n])
  expect(await outcome(heir, 'settleEvent', [id, 1n])).toBe('success')
  await send(owner, 'setOracleAdmin', [zeroAddress])
  await refuses('Not oracle admin', heir, 'settleEvent', [id, 1n])
  expect(await outcome(owner, 'settleEvent', [id, 1n])).toBe('success')
})

test('a log of the deployment names the first oracle admin', async () => {
  const { deployBlock } = on
  const logs = await on.logsAt(deployBlock)
  expect(logs.filter(([name]) => name === 'OracleAdminSet')).toEqual([['OracleAdminSet', { admin: owner }]])
})

test('a new owner starts without an oracle admin, and neither the old owner nor the old admin can settle', async () => {
  const id = await create()
  await send(owner, 'transferOwnership', [heir])
  // Nothing changes until the handover is accepted.
  await mineAt((await read('getHedgeEventCore', [id])).expiryDate)
  expect(await outcome(oracleAdmin, 'settleEvent', [id, 1n])).toBe('success')
  await send(owner, 'setOracleAdmin', [owner])
  expect((await send(heir, 'acceptOwnership', [])).logs).toEqual([
    ['OwnershipTransferred', { previousOwner: owner, newOwner: heir }],
    ['OracleAdminSet', { admin: zeroAddress }],
  ])
  for (const former of [owner, oracleAdmin]) await refuses('Not oracle admin', former, 'settleEvent', [id, 1n])
  expect(await outcome(heir, 'settleEvent', [id, 1n])).toBe('success')

  // Without an oracle admin to reset there is no second log.
  await send(heir, 'transferOwnership', [owner])
  expect((await send(owner, 'acceptOwnership', [])).logs.map(([name]) => name)).toEqual(['OwnershipTransferred'])
})

test('after activateOracleV2 only consensus settles', async () => {
  const id = await create()
  expect((await send(owner, 'activateOracleV2', [])).logs).toEqual([['OracleV2Activated', undefined]])
  await refuses('Oracle consensus active', owner, 'activateOracleV2', [])
  await at((await read('getHedgeEventCore', [id])).expiryDate)
  await send(on.oracleA, 'submitRate', [id, 12_500_000n])
  await refuses('Oracle consensus active', oracleAdmin, 'settleEvent', [id, 12_500_000n])
  await refuses('Oracle consensus active', owner, 'settleEvent', [id, 12_500_000n])
  await send(on.oracleB, 'submitRate', [id, 12_500_000n])
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ settlementPrice: 12_500_000n })
})

test('a pause stops functions that pay money in, and no function that pays money out', async () => {
  const id = await create()
  await buy(hedger, id, 10_000n * USDC)
  await refuses('Not paused', owner, 'unpause', [])
  expect((await send(owner, 'pause', [])).logs).toEqual([['Paused', { by: owner }]])
  expect(await read('isPaused')).toBe(true)
  await refuses('Paused', owner, 'pause', [])
  await refuses('Paused', creator, 'createEvent', [on.newEvent()])
  await refuses('Paused', lp, 'deposit', [id, USDC])
  await refuses('Paused', hedger, 'buyProtection', [id, USDC, maxUint256, maxUint256])
  await refuses('Paused', creator, 'setPoolSettings', [id, true, true])

  await send(creator, 'claimPremiums', [1n])
  await settle(id, 13_500_000n)
  await send(hedger, 'claimPayout', [1n])
  await send(creator, 'withdrawCapital', [1n])
  await send(creator, 'withdrawCreatorEarnings', [id])
  await send(owner, 'withdrawPlatformFees', [1n])

  expect((await send(owner, 'unpause', [])).logs).toEqual([['Unpaused', { by: owner }]])
  expect(await read('isPaused')).toBe(false)
  await create({ expiryDate: on.start + 100n * DAY })
})

test('platform fees are paid per token, never more than was collected', async () => {
  await create()
  await create({ paymentToken: dai, initialLiquidity: 100n * DAI })
  await buy(hedger, 2n, 100n * DAI)
  const inDai = await read('getPlatformFeesByToken', [dai])
  // 0.5 % of a premium of 2.3, less the creator's tenth.
  expect(inDai).toBe(fees.creationFee + 10_350_000_000_000_000n)

  await refuses('Amount is zero', owner, 'withdrawPlatformFees', [0n])
  await refuses('Amount is zero', owner, 'withdrawPlatformFeesByToken', [dai, 0n])
  await refuses('Exceeds collected fees', owner, 'withdrawPlatformFees', [fees.creationFee + 1n])
  await refuses('Exceeds collected fees', owner, 'withdrawPlatformFeesByToken', [dai, inDai + 1n])
  await refuses('Exceeds collected fees', owner, 'withdrawPlatformFeesByToken', [diamond, 1n])

  const first = await send(owner, 'withdrawPlatformFees', [fees.creationFee - 1n])
  expect(first.logs).toEqual([
    ['Transfer', { from: diamond, to: owner, value: fees.creationFee - 1n }],
    ['PlatformFeesWithdrawn', { admin: owner, amount: fees.creationFee - 1n }],
  ])
  expect(await first.moved()).toEqual({ owner: fees.creationFee - 1n, diamond: 1n - fees.creationFee })
  expect(await read('getPlatformFeesByToken', [usdc])).toBe(1n)
  expect(await read('getHedgePlatformFees')).toBe(inDai + 1n)

  const second = await send(owner, 'withdrawPlatformFeesByToken', [dai, inDai])
  expect(second.logs).toEqual([
    ['Transfer', { from: diamond, to: owner, value: inDai }],
    ['PlatformFeesByTokenWithdrawn', { token: dai, admin: owner, amount: inDai }],
  ])
  expect(await second.moved(dai)).toEqual({ owner: inDai, diamond: -inDai })
  expect(await read('getPlatformFeesByToken', [dai])).toBe(0n)
  expect(await read('getHedgePlatformFees')).toBe(1n)
})

test('rescueETH sends coins that were forced onto the diamond', async () => {
  await refuses('Nothing to rescue', owner, 'rescueETH', [heir])
  await client.setBalance({ address: diamond, value: 12_345n })
  await refuses('Zero address', owner, 'rescueETH', [zeroAddress])
  // Tokens do not accept coins.
  await refuses('Transfer failed', owner, 'rescueETH', [usdc])
  const before = await client.getBalance({ address: heir })
  expect((await send(owner, 'rescueETH', [heir])).logs).toEqual([['ETHRescued', { to: heir, amount: 12_345n }]])
  expect(await client.getBalance({ address: heir })).toBe(before + 12_345n)
  expect(await client.getBalance({ address: diamond })).toBe(0n)
})

test('rescueERC20 sends out a stray token, and never a token that the protocol may owe', async () => {
  const stray = await on.deploy('TestToken', ['Other', 'OTH', 18])
  await refuses('Nothing to rescue', owner, 'rescueERC20', [stray, heir])
  await mint(diamond, 77n, stray)
  await refuses('Zero address', owner, 'rescueERC20', [zeroAddress, heir])
  await refuses('Zero address', owner, 'rescueERC20', [stray, zeroAddress])
  const { logs, moved } = await send(owner, 'rescueERC20', [stray, heir])
  expect(logs).toEqual([
    ['ERC20Rescued', { token: stray, to: heir, amount: 77n }],
    ['Transfer', { from: diamond, to: heir, value: 77n }],
  ])
  expect(await moved(stray)).toEqual({ heir: 77n, diamond: -77n })

  await mint(diamond, 1n)
  await mint(diamond, 1n, dai)
  await refuses('Payment token', owner, 'rescueERC20', [usdc, heir])
  await refuses('Payment token', owner, 'rescueERC20', [dai, heir])
  await send(owner, 'setAllowedPaymentToken', [dai, false])
  await refuses('Payment token', owner, 'rescueERC20', [dai, heir])
})

test('setAllowedPaymentToken lists and delists a token for future events', async () => {
  const token = await on.deploy('TestToken', ['Other', 'OTH', 18])
  expect([await read('isAllowedPaymentToken', [usdc]), await read('isAllowedPaymentToken', [token])]).toEqual([
    true,
    false,
  ])
  expect((await send(owner, 'setAllowedPaymentToken', [token, true])).logs).toEqual([
    ['PaymentTokenSet', { token, allowed: true }],
  ])
  expect(await read('isAllowedPaymentToken', [token])).toBe(true)
  await refuses('Zero address', owner, 'setAllowedPaymentToken', [zeroAddress, true])
  await refuses('Default token', owner, 'setAllowedPaymentToken', [usdc, false])
  expect(await outcome(owner, 'setAllowedPaymentToken', [usdc, true])).toBe('success')

  const id = await create({ paymentToken: dai, initialLiquidity: 100n * DAI })
  expect((await send(owner, 'setAllowedPaymentToken', [dai, false])).logs).toEqual([
    ['PaymentTokenSet', { token: dai, allowed: false }],
  ])
  // An existing event is not affected by the delisting.
  await send(lp, 'deposit', [id, DAI])
  await buy(hedger, id, 10n * DAI)
  await settle(id, 13_500_000n)
  await send(hedger, 'claimPayout', [1n])
  await send(lp, 'withdrawCapital', [2n])
})

test('recoverExpiredPayouts recovers exactly the payouts that were not claimed for 90 days', async () => {
  const id = await create()
  await buy(hedger, id, 10_000n * USDC)
  await buy(secondHedger, id, 10_000n * USDC)
  await refuses('Event not found', owner, 'recoverExpiredPayouts', [2n])
  await refuses('Event not settled', owner, 'recoverExpiredPayouts', [id])
  await settle(id, 12_500_000n)
  const { settledAt, totalMaxPayout } = await read('getHedgeEventStats', [id])
  expect(totalMaxPayout).toBe(877_192_982n)
  await send(hedger, 'claimPayout', [1n])
  await mineAt(settledAt + 90n * DAY - 1n)
  await refuses('Grace period', owner, 'recoverExpiredPayouts', [id])

  const before = await read('getPlatformFeesByToken', [usdc])
  const total = await read('getHedgePlatformFees')
  await at(settledAt + 90n * DAY)
  const { logs, moved } = await send(owner, 'recoverExpiredPayouts', [id])
  expect(logs).toEqual([['ExpiredPayoutsRecovered', { eventId: 1n, amount: 438_596_491n }]])
  expect(await moved()).toEqual({})
  expect(await read('getPlatformFeesByToken', [usdc])).toBe(before + 438_596_491n)
  expect(await read('getHedgePlatformFees')).toBe(total + 438_596_491n)
  expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: 438_596_491n, status: 3, claimed: true })
  expect(await read('getHedgePosition', [2n])).toMatchObject({ payoutAmount: 0n, status: 5, claimed: false })
  await refuses('No payout', secondHedger, 'claimPayout', [2n])
  await refuses('Already recovered', owner, 'recoverExpiredPayouts', [id])

  // The LP's capital is unchanged, and after the last withdrawal the diamond holds exactly what it owes.
  expect(await (await send(creator, 'withdrawCapital', [1n])).moved()).toMatchObject({
    creator: 10_000n * USDC - 877_192_982n,
  })
  await send(creator, 'claimPremiums', [1n])
  await send(creator, 'withdrawCreatorEarnings', [id])
  await send(owner, 'withdrawPlatformFees', [await read('getPlatformFeesByToken', [usdc])])
  expect(await on.balance(diamond)).toBe(0n)
})

test('an event without payouts or with all payouts claimed has nothing to recover', async () => {
  const lost = await create()
  const won = await create()
  await buy(hedger, lost, 10_000n * USDC)
  await buy(hedger, won, 10_000n * USDC)
  await settle(lost, 11_000_000n)
  await send(oracleAdmin, 'settleEvent', [won, 13_500_000n])
  await send(hedger, 'claimPayout', [2n])
  await mineAt((await on.now()) + 91n * DAY)
  await refuses('Nothing to recover', owner, 'recoverExpiredPayouts', [lost])
  await refuses('Nothing to recover', owner, 'recoverExpiredPayouts', [won])
})

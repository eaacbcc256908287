import { maxUint256, toFunctionSelector, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { deployHostileToken } from '../support/hostile-token.ts'
import { DAI, DAY, USDC, useProtocol } from '../support/use-protocol.ts'

const protocol = await useProtocol('deployed')
const { send, read, refuses, transact, outcome, approve, mint, at, buy, settle, ...on } = protocol
const { owner, creator, lp, hedger, stranger, oracleA, oracleB, oracleC, diamond, usdc, start, newEvent } = on

const MINIMUM = 10_000_000n
/** Shares per token unit. */
const SHARES = 10n ** 12n

/** An event whose pool its creator has opened. */
const open = async (chosen: Parameters<typeof newEvent>[0] = {}): Promise<bigint> => {
  const id = await on.create(chosen)
  await send(creator, 'setPoolSettings', [id, true, true])
  return id
}

test('creation has the deployed log names, and leaves the pool closed', async () => {
  const { logs } = await send(creator, 'createEvent', [newEvent()])
  const { underlying, strike, premiumRate, expiryDate, initialLiquidity } = newEvent()
  const terms = { underlying, strike, premiumRate, expiryDate, initialLiquidity }
  expect(logs).toEqual([
    ['HedgeEventCreated', { eventId: 1n, creator, ...terms }],
    [
      'LiquidityDeposited',
      { eventId: 1n, depositId: 1n, lp: creator, amount: initialLiquidity, shares: initialLiquidity * SHARES },
    ],
    ['Transfer', { from: creator, to: diamond, value: initialLiquidity + 5n * USDC }],
  ])
  expect((await read('getHedgeEventCore', [1n])).poolOpen).toBe(false)
  expect(await read('getCreatorEventIds', [creator])).toEqual([1n])
})

test('the minimum seed, deposit and notional are 10,000,000 raw units, whatever the decimals', async () => {
  for (const paymentToken of [usdc, on.dai]) {
    const less = newEvent({ paymentToken, initialLiquidity: MINIMUM - 1n })
    await refuses('Min initial liquidity: 10 USDC', creator, 'createEvent', [less])
    const id = await open({ paymentToken, initialLiquidity: MINIMUM })
    await refuses('Min deposit: 10 USDC', lp, 'deposit', [id, MINIMUM - 1n])
    await send(lp, 'deposit', [id, MINIMUM])
    await refuses('Min notional: 10 USDC', hedger, 'buyProtection', [id, MINIMUM - 1n, maxUint256, maxUint256])
    await buy(hedger, id, MINIMUM)
  }
})

test('without a registered signer any signature is accepted; with a signer only its own', async () => {
  const garbage = newEvent({ signature: '0x1234' })
  await send(creator, 'createEvent', [garbage])
  expect(await read('getEventQuoteSigner', [1n])).toBe(zeroAddress)
  await send(owner, 'setPricingEngineSigner', [stranger])
  await refuses('Bad signature length', creator, 'createEvent', [garbage])
})

test('a closed pool accepts deposits of its creator only', async () => {
  const id = await on.create()
  const { logs } = await send(creator, 'deposit', [id, MINIMUM])
  expect(logs[0]).toEqual([
    'LiquidityDeposited',
    { eventId: id, depositId: 2n, lp: creator, amount: MINIMUM, shares: MINIMUM * SHARES },
  ])
  const text = 'Pool closed to external LPs'
  await refuses(text, lp, 'deposit', [id, MINIMUM])
  await send(creator, 'setPoolSettings', [id, true, false])
  await refuses(text, lp, 'deposit', [id, MINIMUM])
  await send(creator, 'setPoolSettings', [id, true, true])
  await send(lp, 'deposit', [id, MINIMUM])
  await settle(id, 1n)
  await refuses('Event not open', lp, 'deposit', [id, MINIMUM])
})

test('a purchase needs an open pool, and is rejected with its own reasons', async () => {
  const id = await on.create()
  await refuses('Pool not open for hedging', hedger, 'buyProtection', [id, MINIMUM, maxUint256, maxUint256])
  await send(creator, 'setPoolSettings', [id, true, true])
  await refuses('Transaction deadline expired', hedger, 'buyProtection', [id, MINIMUM, maxUint256, 1n])
  await refuses('Cost exceeds slippage limit', hedger, 'buyProtection', [id, MINIMUM, 231_149n, maxUint256])
  const { logs } = await send(hedger, 'buyProtection', [id, MINIMUM, 231_150n, maxUint256])
  const bought = { eventId: id, positionId: 1n, hedger, notional: MINIMUM }
  expect(logs[0]).toEqual([
    'ProtectionPurchased',
    { ...bought, premiumPaid: 230_000n, platformFee: 1_150n, totalCost: 231_150n },
  ])
  const { expiryDate } = await read('getHedgeEventCore', [id])
  await on.mineAt(expiryDate)
  await refuses('Event expired', hedger, 'buyProtection', [id, MINIMUM, maxUint256, maxUint256])
  await settle(id, 1n)
  await refuses('Event not open', hedger, 'buyProtection', [id, MINIMUM, maxUint256, maxUint256])
})

test('capacity is the free liquidity, and the worst case of a purchase may use all of it', async () => {
  const id = await open()
  await buy(hedger, id, 10_000n * USDC)
  const { availableCapacity } = await read('getPoolUtilization', [id])
  // 10,000 USDC less floor(10,000 USDC x 1.5 / 11.4)
  expect(availableCapacity).toBe(10_000n * USDC - 1_315_789_473n)
  // floor(((free + 1) x 11.4 - 1) / 1.5)
  const most = ((availableCapacity + 1n) * 11_400_000n - 1n) / 1_500_000n
  const text = 'Insufficient pool liquidity for payout'
  await refuses(text, hedger, 'buyProtection', [id, most + 1n, maxUint256, maxUint256])
  await buy(hedger, id, most)
  expect((await read('getPoolUtilization', [id])).availableCapacity).toBe(0n)
})

test('a position shows its worst case until settlement, and its payout after', async () => {
  const id = await open()
  await buy(hedger, id, 10_000n * USDC)
  expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: 1_315_789_473n, status: 0 })
  await settle(id, 12_500_000n)
  expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: 438_596_491n, status: 4 })
  await send(hedger, 'claimPayout', [1n])
  await refuses('Already claimed', hedger, 'claimPayout', [1n])
  expect(await read('getHedgePosition', [1n])).toMatchObject({ payoutAmount: 438_596_491n, status: 3, claimed: true })
})

test('premiums earned equal premiums claimed, and pending premiums come in addition', async () => {
  const id = await open()
  await buy(hedger, id, 10_000n * USDC)
  expect(await read('getHedgeLpDeposit', [1n])).toMatchObject({ premiumsEarned: 0n, premiumsClaimed: 0n })
  const pending = await read('pendingPremiums', [1n])
  expect(pending).toBe(230n * USDC)
  await send(creator, 'claimPremiums', [1n])
  expect(await read('getHedgeLpDeposit', [1n])).toMatchObject({ premiumsEarned: pending, premiumsClaimed: pending })
})

test('a missing allowance reverts with the token’s own reason', async () => {
  const id = await open()
  await approve(lp, MINIMUM - 1n)
  await refuses('Transfer amount exceeds allowance', lp, 'deposit', [id, MINIMUM])
  await mint(stranger, MINIMUM - 1n)
  await approve(stranger, maxUint256)
  await refuses('Transfer amount exceeds balance', stranger, 'deposit', [id, MINIMUM])
})

test('all fresh rates must agree: a rate that does not agree clears the round, otherwise their mean settles', async () => {
  await send(owner, 'setRequiredSigners', [3n])
  const id = await open({ expiryDate: start + DAY })
  await at(start + DAY)
  const submit = (from: typeof oracleA, rate: bigint) => send(from, 'submitRate', [id, rate])
  await submit(oracleA, 12_000_000n)
  await submit(oracleB, 12_000_001n)
  const { logs } = await submit(oracleC, 20_000_000n)
  expect(logs.at(-1)).toEqual(['SubmissionsCleared', { eventId: id, reason: 'Price disagreement exceeds tolerance' }])
  expect(await read('getSubmitterCount', [id])).toBe(0n)

  await at((await on.now()) + 300n)
  await submit(oracleA, 12_000_000n)
  await submit(oracleB, 12_000_001n)
  await submit(oracleC, 12_100_000n)
  // The median is 12,000,001; the mean 12,033,333.67.
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ settlementPrice: 12_033_333n, triggered: true })
  expect(await read('getSubmitterCount', [id])).toBe(0n)
})

test('an oracle may submit for an event again after 300 seconds, or earlier when the owner cleared its rate', async () => {
  const id = await open({ expiryDate: start + DAY })
  const cooling = 'Resubmit cooldown: wait 5 minutes between submissions for this event'
  await at(start + DAY)
  await send(oracleA, 'submitRate', [id, 12_000_000n])
  await on.mineAt(start + DAY + 299n)
  await refuses(cooling, oracleA, 'submitRate', [id, 12_000_001n])
  await at(start + DAY + 300n)
  await send(oracleA, 'submitRate', [id, 12_000_001n])

  // A disagreement clears the round and keeps the cooldown.
  await send(oracleB, 'submitRate', [id, 20_000_000n])
  expect(await read('getSubmitterCount', [id])).toBe(0n)
  for (const oracle of [oracleA, oracleB]) await refuses(cooling, oracle, 'submitRate', [id, 12_000_000n])

  await send(oracleC, 'submitRate', [id, 12_000_000n])
  expect((await send(owner, 'clearStaleSubmissions', [id])).logs).toEqual([
    ['SubmissionsCleared', { eventId: id, reason: 'Manually cleared by admin' }],
  ])
  await refuses(cooling, oracleA, 'submitRate', [id, 12_000_000n])
  await send(oracleC, 'submitRate', [id, 12_000_000n])
})

test('the tolerance is measured in whole basis points, rounded down', async () => {
  await send(owner, 'setToleranceBps', [100n])
  const submit = async (low: bigint, high: bigint) => {
    const expiryDate = (await on.now()) + 100n
    const id = await open({ expiryDate })
    await at(expiryDate)
    await send(oracleA, 'submitRate', [id, low])
    await send(oracleB, 'submitRate', [id, high])
    return (await read('getHedgeEventStats', [id])).settlementPrice
  }
  // 100.99 basis points are 100; the reference protocol accepts at most 120,000.
  expect(await submit(12_000_000n, 12_121_199n)).toBe(12_060_599n)
  expect(await submit(12_000_000n, 12_121_200n)).toBe(0n)
})

test('a withdrawal is rounded up, so that all withdrawals together may pay one unit too much', async () => {
  const id = await open({ initialLiquidity: MINIMUM + 1n })
  for (const from of [lp, on.secondLp]) await send(from, 'deposit', [id, MINIMUM + 1n])
  await buy(hedger, id, MINIMUM)
  await settle(id, 12_500_000n)
  const { totalLiquidity, totalMaxPayout } = await read('getHedgeEventStats', [id])
  expect([totalLiquidity, totalMaxPayout]).toEqual([30_000_003n, 438_596n])
  // A third of 438,596 is 146,198.67, of which each position pays 146,198: the sum is two units too small.
  const amount = MINIMUM + 1n - 146_198n
  expect(3n * amount + totalMaxPayout - totalLiquidity).toBe(2n)
  for (const [at, from] of [creator, lp, on.secondLp].entries()) {
    const depositId = BigInt(at) + 1n
    const { logs } = await send(from, 'withdrawCapital', [depositId])
    expect(logs[0]).toEqual(['CapitalWithdrawn', { depositId, lp: from, amount }])
  }
})

test('a notional is unlimited, so that premiums can grow beyond the range of their own view', async () => {
  const many = 10n ** 58n
  await mint(creator, many)
  await mint(hedger, 100n * many)
  // A zone of a millionth: the worst case is 1/11,400,000 of the notional.
  const tiny = { payoutCap: 12_000_001n, premiumRate: 1_000_000n, initialLiquidity: 2n * 10n ** 52n }
  const id = await open(tiny)
  await buy(hedger, id, 6n * many)
  expect(await read('pendingPremiums', [1n])).toBe(6n * many)
  await buy(hedger, id, 6n * many)
  await expect(read('pendingPremiums', [1n])).rejects.toThrow('overflow')
  expect(await outcome(creator, 'claimPremiums', [1n])).toBe('panic 17')
})

test('a token may return nothing, and a token that returns false is rejected with the error of SafeERC20', async () => {
  const { token, behave } = await deployHostileToken(protocol)
  await send(owner, 'setAllowedPaymentToken', [token, true])
  for (const from of [creator, hedger]) {
    await mint(from, 1_000n * DAI, token)
    await approve(from, maxUint256, token)
  }
  await behave('saysNothing')
  const id = await open({ paymentToken: token, initialLiquidity: 100n * DAI })
  await buy(hedger, id, 10n * DAI)
  await settle(id, 13_500_000n)
  await send(hedger, 'claimPayout', [1n])
  await send(creator, 'withdrawCapital', [1n])

  await behave('saysNo')
  const later = newEvent({ paymentToken: token, expiryDate: start + 60n * DAY })
  await refuses('SafeERC20FailedOperation', creator, 'createEvent', [later])
})

test('a cut takes effect immediately, and only the owner may cut', async () => {
  const cut = { facetAddress: zeroAddress, action: 2, functionSelectors: [toFunctionSelector('isPaused()')] }
  const args = [[cut], zeroAddress, '0x'] as const
  await refuses('LibDiamond: Must be contract owner', stranger, 'diamondCut', args)
  const { logs } = await send(owner, 'diamondCut', args)
  expect(logs.map(([name]) => name)).toEqual(['DiamondCut'])
  expect(await read('facetAddress', [toFunctionSelector('isPaused()')])).toBe(zeroAddress)
})

test('a function that is not mounted reverts with a reason', async () => {
  for (const signature of ['owner()', 'isMounted()']) {
    await expect(transact(stranger, diamond, toFunctionSelector(signature))).rejects.toThrow(
      'reverted with: Diamond: Function does not exist',
    )
  }
  expect(await outcome(owner, 'cancelCut', [`0x${'00'.repeat(32)}`])).toBe('Diamond: Function does not exist')
  const at4 = await on.client.getStorageAt({
    address: diamond,
    slot: '0xc8fcad8db84d3cc18b4c41d551ea0ee66dd599cde068d998e57d5e09332c1320',
  })
  expect(BigInt(at4 ?? 0)).toBe(BigInt(owner))
})

test('unknown ids read as zeros', async () => {
  expect(await read('getHedgeEventCore', [1n])).toMatchObject({ id: 0n, creator: zeroAddress, name: '', strike: 0n })
  expect(await read('getPoolUtilization', [1n])).toEqual({
    totalLiquidity: 0n,
    totalExposure: 0n,
    availableCapacity: 0n,
    utilizationPercent: 0n,
  })
  expect(await read('getHedgePosition', [1n])).toMatchObject({ id: 0n, payoutAmount: 0n })
  expect(await read('getHedgeLpDeposit', [1n])).toMatchObject({ id: 0n, premiumsEarned: 0n })
  expect(await read('quoteRangePayout', [1n, 1n, DAI])).toBe(0n)
})

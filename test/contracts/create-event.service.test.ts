import { hexToBigInt, keccak256, maxUint256, toBytes, toHex, zeroAddress, zeroHash } from 'viem'
import { expect, test } from 'vitest'
import { DAI, DAY, fees, type NewEvent, USDC, useProtocol } from '../support/use-protocol.ts'

const { send, read, refuses, approve, mint, at, mineAt, now, create, newEvent, outcome, ...on } = await useProtocol()
const { creator, lp, hedger, owner, stranger, diamond, usdc, dai, start, buy } = on

test('createEvent records the event, seeds the pool and pulls fee and seed in one transfer', async () => {
  const params = newEvent()
  const { logs, moved } = await send(creator, 'createEvent', [params])

  expect(logs).toEqual([
    [
      'EventCreated',
      {
        eventId: 1n,
        creator,
        underlying: 'USD/GHS',
        strike: 12_000_000n,
        premiumRate: 23_000n,
        expiryDate: params.expiryDate,
        initialLiquidity: 10_000n * USDC,
      },
    ],
    ['DepositCreated', { eventId: 1n, depositId: 1n, lp: creator, amount: 10_000n * USDC, shares: 10_000n * USDC }],
    ['Transfer', { from: creator, to: diamond, value: 10_005n * USDC }],
  ])
  expect(await moved()).toEqual({ creator: -10_005n * USDC, diamond: 10_005n * USDC })

  expect(await read('getTotalHedgeEvents')).toBe(1n)
  expect(await read('getHedgeEventCore', [1n])).toEqual({
    id: 1n,
    creator,
    name: 'Cedi, upward',
    underlying: 'USD/GHS',
    strike: 12_000_000n,
    premiumRate: 23_000n,
    expiryDate: params.expiryDate,
    status: 0,
    poolOpen: true,
    allowExternalLp: true,
    initialRate: 11_400_000n,
    strikeAbove: true,
  })
  expect(await read('getHedgeEventRange', [1n])).toEqual({
    strike: 12_000_000n,
    payoutCap: 13_500_000n,
    initialRate: 11_400_000n,
    strikeAbove: true,
  })
  expect(await read('getHedgeEventStats', [1n])).toEqual({
    settlementPrice: 0n,
    triggered: false,
    settledAt: 0n,
    creatorEarnings: 0n,
    totalLiquidity: 10_000n * USDC,
    totalExposure: 0n,
    totalPremiums: 0n,
    lpCount: 1n,
    hedgerCount: 0n,
    totalMaxPayout: 0n,
  })
  expect(await read('getPoolUtilization', [1n])).toEqual({
    totalLiquidity: 10_000n * USDC,
    totalExposure: 0n,
    availableCapacity: 76_000n * USDC,
    utilizationPercent: 0n,
  })
  expect(await read('getHedgeLpDeposit', [1n])).toEqual({
    id: 1n,
    eventId: 1n,
    lp: creator,
    amount: 10_000n * USDC,
    shares: 10_000n * USDC,
    premiumsEarned: 0n,
    premiumsClaimed: 0n,
    withdrawn: false,
  })
  expect(await read('getEventDepositIds', [1n])).toEqual([1n])
  expect(await read('getEventPositionIds', [1n])).toEqual([])
  expect(await read('getLpDepositIds', [creator])).toEqual([1n])
  expect(await read('getCreatorEventIds', [creator])).toEqual([1n])
  expect(await read('getEventPaymentToken', [1n])).toBe(usdc)
  expect(await read('getEventQuoteSigner', [1n])).toBe(zeroAddress)
  // The creator gets no share of the creation fee.
  expect(await read('getPlatformFeesByToken', [usdc])).toBe(fees.creationFee)
  expect(await read('getHedgePlatformFees')).toBe(fees.creationFee)
})

test('events and deposits are counted separately from one', async () => {
  expect([await create(), await create({ paymentToken: dai, initialLiquidity: 7n * DAI }), await create()]).toEqual([
    1n,
    2n,
    3n,
  ])
  await send(lp, 'deposit', [2n, DAI])
  expect(await read('getEventDepositIds', [2n])).toEqual([2n, 4n])
  expect(await read('getCreatorEventIds', [creator])).toEqual([1n, 2n, 3n])
  expect(await read('getCreatorEventIds', [lp])).toEqual([])
  expect(await read('getLpDepositIds', [creator])).toEqual([1n, 2n, 3n])
  expect(await read('getLpDepositIds', [lp])).toEqual([4n])
})

test('createEvent uses the default token for the zero address, and the flat fee in raw units of any token', async () => {
  await create({ paymentToken: zeroAddress })
  expect(await read('getEventPaymentToken', [1n])).toBe(usdc)

  const { moved } = await send(creator, 'createEvent', [newEvent({ paymentToken: dai, initialLiquidity: 7n * DAI })])
  expect(await moved()).toEqual({})
  expect(await moved(dai)).toEqual({ creator: -7n * DAI - fees.creationFee, diamond: 7n * DAI + fees.creationFee })
  expect(await read('getEventPaymentToken', [2n])).toBe(dai)
  expect(await read('getPlatformFeesByToken', [dai])).toBe(fees.creationFee)
  expect(await read('getPlatformFeesByToken', [usdc])).toBe(fees.creationFee)
  expect(await read('getHedgePlatformFees')).toBe(2n * fees.creationFee)
})

test('createEvent is rejected until fees were initialized', async () => {
  // No function can reset the flag, so the test clears it in storage: it shares a slot with `paused` and `oracleV2`.
  const flags = toHex(hexToBigInt(keccak256(toBytes('fx.protection.protocol.storage'))) + 1n, { size: 32 })
  expect(await read('isFeesInitialized')).toBe(true)
  await on.client.setStorageAt({ address: diamond, index: flags, value: zeroHash })
  expect(await read('isFeesInitialized')).toBe(false)
  await refuses('Fees not initialized', creator, 'createEvent', [newEvent()])
})

const bounds: readonly (readonly [string, Partial<NewEvent>])[] = [
  ['Bad name length', { name: '' }],
  ['Bad name length', { name: 'x'.repeat(129) }],
  // Bytes, not characters: 43 of three bytes are 129.
  ['Bad name length', { name: '€'.repeat(43) }],
  ['success', { name: 'x'.repeat(128) }],
  ['Bad underlying length', { underlying: '' }],
  ['Bad underlying length', { underlying: 'x'.repeat(33) }],
  ['success', { underlying: 'x'.repeat(32) }],
  ['Strike is zero', { strike: 0n }],
  ['Initial rate is zero', { initialRate: 0n }],
  ['Rate too large', { strike: 2n ** 96n, payoutCap: 2n ** 96n + 1n }],
  ['Rate too large', { payoutCap: 2n ** 96n }],
  ['Rate too large', { initialRate: 2n ** 96n }],
  ['Rate too large', { payoutCap: maxUint256 }],
  ['success', { payoutCap: 2n ** 96n - 1n, strike: 2n ** 96n - 2n, initialRate: 2n ** 96n - 1n }],
  ['Bad premium rate', { premiumRate: 0n }],
  ['Bad premium rate', { premiumRate: 1_000_001n }],
  ['success', { premiumRate: 1_000_000n }],
  ['success', { premiumRate: 1n }],
  // A range may begin on either side of the initial rate.
  ['success', { strike: 11_000_000n }],
  ['Cap on wrong side', { payoutCap: 12_000_000n }],
  ['Cap on wrong side', { payoutCap: 11_999_999n }],
  ['success', { payoutCap: 12_000_001n }],
  ['Cap on wrong side', { strikeAbove: false }],
  ['Cap on wrong side', { strikeAbove: false, payoutCap: 12_000_000n }],
  ['success', { strikeAbove: false, payoutCap: 11_999_999n }],
  // A single strike pays its distance to the initial rate, so the distance must not be zero.
  ['Strike on wrong side', { payoutCap: 0n, strike: 11_400_000n }],
  ['success', { payoutCap: 0n, strike: 11_400_001n }],
  ['Strike on wrong side', { payoutCap: 0n, strikeAbove: false }],
  ['Strike on wrong side', { payoutCap: 0n, strikeAbove: false, strike: 11_400_000n }],
  ['success', { payoutCap: 0n, strikeAbove: false, strike: 11_399_999n }],
  ['Token not allowed', { paymentToken: diamond }],
  ['Amount too large', { initialLiquidity: 2n ** 128n }],
  ['Insufficient balance', { initialLiquidity: 2n ** 128n - 1n }],
  ['success', { initialLiquidity: 1n }],
]
test.each(bounds)('%s: %o', async (expected, chosen) => {
  expect(await outcome(creator, 'createEvent', [newEvent(chosen)])).toBe(expected)
})

test('createEvent requires an expiry after now and at most 365 days ahead', async () => {
  const time = start + DAY
  await mineAt(time)
  const expiring = (expiryDate: bigint) => outcome(creator, 'createEvent', [newEvent({ expiryDate })])
  expect(await expiring(time)).toBe('Bad expiry')
  expect(await expiring(time + 1n)).toBe('success')
  expect(await expiring(time + 365n * DAY)).toBe('success')
  expect(await expiring(time + 365n * DAY + 1n)).toBe('Bad expiry')
  expect(await expiring(0n)).toBe('Bad expiry')
  expect(await expiring(maxUint256)).toBe('Bad expiry')
  expect(await now()).toBe(time)
})

test('createEvent is rejected in a delisted token', async () => {
  await send(owner, 'setAllowedPaymentToken', [dai, false])
  await refuses('Token not allowed', creator, 'createEvent', [newEvent({ paymentToken: dai })])
})

test('an event may start without a seed, and gets its first liquidity from a deposit', async () => {
  const { logs, moved } = await send(creator, 'createEvent', [newEvent({ initialLiquidity: 0n })])
  expect(logs.map(([name]) => name)).toEqual(['EventCreated', 'Transfer'])
  expect(await moved()).toEqual({ creator: -fees.creationFee, diamond: fees.creationFee })
  expect(await read('getEventDepositIds', [1n])).toEqual([])
  expect(await read('getPoolUtilization', [1n])).toEqual({
    totalLiquidity: 0n,
    totalExposure: 0n,
    availableCapacity: 0n,
    utilizationPercent: 0n,
  })
  await refuses('Exceeds capacity', hedger, 'buyProtection', [1n, USDC, USDC, maxUint256])
  await send(lp, 'deposit', [1n, 1_000n * USDC])
  await buy(hedger, 1n, 1_000n * USDC)
  expect(await read('pendingPremiums', [1n])).toBe(23n * USDC)
})

test('createEvent needs allowance and balance for fee and seed together', async () => {
  const needed = 10_005n * USDC
  await approve(creator, needed - 1n)
  await refuses('Insufficient allowance', creator, 'createEvent', [newEvent()])
  await approve(creator, needed)
  await send(creator, 'createEvent', [newEvent()])

  await approve(stranger, maxUint256)
  await mint(stranger, needed - 1n)
  await refuses('Insufficient balance', stranger, 'createEvent', [newEvent()])
  await mint(stranger, 1n)
  await send(stranger, 'createEvent', [newEvent()])
  expect(await on.balance(stranger)).toBe(0n)
})

import { readFileSync } from 'node:fs'
import { maxUint256 } from 'viem'
import { expect, test } from 'vitest'
import { fees, USDC, useProtocol } from '../support/use-protocol.ts'

const { send, read, refuses, approve, at, mineAt, create, buy, settle, ...on } = await useProtocol()
const { owner, oracleA, oracleB, creator, lp, hedger, stranger, heir, newEvent } = on

test('protection costs the same in the last second before expiry as on the first day', async () => {
  const id = await create()
  const first = await buy(hedger, id, 10_000n * USDC)
  await at((await read('getHedgeEventCore', [id])).expiryDate - 1n)
  const last = await buy(hedger, id, 10_000n * USDC)
  const cost = { premiumPaid: 230n * USDC, platformFee: 1_150_000n, totalCost: 231_150_000n }
  for (const { logs } of [first, last]) expect(logs[0]?.[1]).toMatchObject(cost)
  await settle(id, 13_500_000n)
  const { logs } = await send(hedger, 'claimPayout', [2n])
  expect(logs[0]?.[1]).toMatchObject({ grossPayout: 1_315_789_473n, netPayout: 1_302_631_579n })
})

test('a deposit bears payouts of protection sold before it, and after expiry it earns nothing', async () => {
  const id = await create()
  await buy(hedger, id, 70_000n * USDC)
  await mineAt((await read('getHedgeEventCore', [id])).expiryDate)
  await send(lp, 'deposit', [id, 10_000n * USDC])
  await send(on.oracleAdmin, 'settleEvent', [id, 13_500_000n])
  expect(await read('pendingPremiums', [2n])).toBe(0n)
  // Half of 70,000 x 1.5 / 11.4.
  const { logs } = await send(lp, 'withdrawCapital', [2n])
  expect(logs[0]?.[1]).toMatchObject({ amount: 10_000n * USDC - 4_605_263_158n })
})

test('two of three oracles settle at any price above zero that they agree on', async () => {
  for (const price of [1n, maxUint256]) {
    const id = await create({ expiryDate: (await on.now()) + 100n })
    await at((await read('getHedgeEventCore', [id])).expiryDate)
    await send(oracleA, 'submitRate', [id, price])
    await send(oracleB, 'submitRate', [id, price])
    expect(await read('getHedgeEventStats', [id])).toMatchObject({ settlementPrice: price })
  }
})

test('the oracle that completes a quorum of two moves the price by half the tolerance', async () => {
  const id = await create()
  await at((await read('getHedgeEventCore', [id])).expiryDate)
  await send(oracleA, 'submitRate', [id, 11_594_203n])
  // 7 % above: the event is triggered, which the first oracle alone could not have caused.
  await send(oracleB, 'submitRate', [id, 12_405_797n])
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ settlementPrice: 12_000_000n, triggered: true })
})

test('the owner can add oracles of its own at once and settle with them, also when only consensus settles', async () => {
  const id = await create()
  await send(owner, 'activateOracleV2', [])
  for (const own of [stranger, heir]) await send(owner, 'addOracle', [own])
  await at((await read('getHedgeEventCore', [id])).expiryDate)
  for (const own of [stranger, heir]) await send(own, 'submitRate', [id, 1n])
  expect(await read('getHedgeEventStats', [id])).toMatchObject({ settlementPrice: 1n, triggered: false })
})

test('an event that is never settled keeps its capital, and its premiums can be claimed', async () => {
  const id = await create()
  await buy(hedger, id, 10_000n * USDC)
  await mineAt((await read('getHedgeEventCore', [id])).expiryDate + 3_650n * 86_400n)
  await refuses('Event not settled', creator, 'withdrawCapital', [1n])
  await refuses('Event not settled', hedger, 'claimPayout', [1n])
  await send(creator, 'claimPremiums', [1n])
})

test('an exact approval fails a creation whose fee was raised meanwhile', async () => {
  const seed = 100n * USDC
  await approve(creator, fees.creationFee + seed)
  await send(owner, 'initializeHedgeFees', [fees.creationFee + 1n, 0n, 0n, 0n, 0n])
  await refuses('Insufficient allowance', creator, 'createEvent', [newEvent({ initialLiquidity: seed })])
})

test('the terms of an event are its creator’s to choose, an initial rate far from the market included', async () => {
  // The payout zone begins below the initial rate: a position is in the money on the day it is sold.
  const id = await create({ strike: 1_000_000n, payoutCap: 2_000_000n, premiumRate: 1n })
  expect(await read('quoteRangePayout', [id, 11_400_000n, 11_400n * USDC])).toBe(1_000n * USDC)
  expect(await read('getEventQuoteSigner', [id])).toBe('0x0000000000000000000000000000000000000000')
})

test('every test that docs/trust.md names exists', () => {
  const named = [
    ...readFileSync('docs/trust.md', 'utf8')
      .replace(/\s+/g, ' ')
      .matchAll(/`([\w-]+)`: “([^”]+)”/g),
  ]
  expect(named.length).toBeGreaterThan(20)
  const missing = named.filter(
    ([, file, title]) => !readFileSync(`test/contracts/${file}.service.test.ts`, 'utf8').includes(title ?? ''),
  )
  expect(missing.map(([text]) => text)).toEqual([])
})

import { expect, test } from 'vitest'
import { DAY, useProtocol } from '../support/use-protocol.ts'

const { send, read, refuses, at, mineAt, create, settle, start, ...on } = await useProtocol()
const { owner, oracleA, oracleB, oracleC, stranger, heir, hedger, accounts } = on

const expiry = start + 30n * DAY
const RATE = 12_500_000n

/** An expired event and the next block's time. */
const expired = async (): Promise<bigint> => {
  const id = await create()
  await at(expiry)
  return id
}

const settled = async (id: bigint) => {
  const { settledAt, settlementPrice, triggered } = await read('getHedgeEventStats', [id])
  return settledAt === 0n ? null : { settlementPrice, triggered }
}

test('the second of two agreeing rates settles at their mean, rounded down', async () => {
  const id = await expired()
  const first = await send(oracleA, 'submitRate', [id, RATE])
  expect(first.logs).toEqual([['RateSubmitted', { eventId: id, oracle: oracleA, price: RATE }]])
  expect(await settled(id)).toBeNull()
  const second = await send(oracleB, 'submitRate', [id, RATE + 1n])
  expect(second.logs).toEqual([
    ['RateSubmitted', { eventId: id, oracle: oracleB, price: RATE + 1n }],
    ['ConsensusReached', { eventId: id, agreedPrice: RATE, signerCount: 2n }],
    ['OracleEventSettled', { eventId: id, settlementPrice: RATE, triggered: true }],
  ])
  expect(await settled(id)).toEqual({ settlementPrice: RATE, triggered: true })
  expect((await read('getHedgeEventStats', [id])).settledAt).toBe(await second.time())
  expect((await read('getHedgeEventCore', [id])).status).toBe(1)
  await refuses('Event settled', oracleC, 'submitRate', [id, RATE])
})

test('with three required signers the median of three rates settles', async () => {
  await send(owner, 'setRequiredSigners', [3n])
  const id = await expired()
  await send(oracleA, 'submitRate', [id, RATE + 300n])
  await send(oracleB, 'submitRate', [id, RATE])
  expect(await settled(id)).toBeNull()
  await send(oracleC, 'submitRate', [id, RATE + 1n])
  expect(await settled(id)).toEqual({ settlementPrice: RATE + 1n, triggered: true })
})

test('the tolerance is inclusive, and one unit beyond it does not agree', async () => {
  const low = 10_000_000n
  const inside = await expired()
  await send(oracleA, 'submitRate', [inside, low])
  await send(oracleB, 'submitRate', [inside, low + 700_000n])
  expect(await settled(inside)).toEqual({ settlementPrice: low + 350_000n, triggered: false })

  await send(owner, 'setToleranceBps', [700n])
  const { timestamp } = await on.client.getBlock()
  const outside = await create({ expiryDate: timestamp + 100n })
  await at(timestamp + 100n)
  await send(oracleA, 'submitRate', [outside, low])
  await send(oracleB, 'submitRate', [outside, low + 700_001n])
  expect(await settled(outside)).toBeNull()
  // The third agrees with the higher one: an outlier does not block the others.
  await send(oracleC, 'submitRate', [outside, low + 800_000n])
  expect(await settled(outside)).toEqual({ settlementPrice: low + 750_000n, triggered: false })
})

test('of two sets of the same size the tighter one agrees', async () => {
  await send(owner, 'setRequiredSigners', [3n])
  const id = await expired()
  await send(oracleA, 'submitRate', [id, 10_000_000n])
  await send(oracleB, 'submitRate', [id, 10_690_000n])
  await send(owner, 'setRequiredSigners', [2n])
  await send(oracleC, 'submitRate', [id, 10_700_001n])
  expect(await settled(id)).toEqual({ settlementPrice: 10_695_000n, triggered: false })
})

test('a rate is fresh for 900 seconds and stale after', async () => {
  const id = await expired()
  await send(oracleA, 'submitRate', [id, RATE])
  await mineAt(expiry + 900n)
  expect(await read('getSubmission', [id, oracleA])).toEqual({
    price: RATE,
    timestamp: expiry,
    exists: true,
    isStale: false,
  })
  await mineAt(expiry + 901n)
  expect(await read('getAllSubmissions', [id])).toEqual({
    oracleAddresses: [oracleA],
    prices: [RATE],
    timestamps: [expiry],
    isStale: [true],
  })
  await send(oracleB, 'submitRate', [id, RATE])
  expect(await settled(id)).toBeNull()
  await send(oracleA, 'submitRate', [id, RATE])
  expect(await settled(id)).toEqual({ settlementPrice: RATE, triggered: true })
})

test('a rate exactly 900 seconds old still counts', async () => {
  const id = await expired()
  await send(oracleA, 'submitRate', [id, RATE])
  await at(expiry + 900n)
  await send(oracleB, 'submitRate', [id, RATE])
  expect(await settled(id)).not.toBeNull()
})

test('a later rate of an oracle replaces its earlier one and does not count as a second rate', async () => {
  const id = await expired()
  await send(oracleA, 'submitRate', [id, RATE])
  await send(oracleA, 'submitRate', [id, RATE + 5n])
  expect(await settled(id)).toBeNull()
  expect(await read('getSubmitterCount', [id])).toBe(1n)
  expect((await read('getSubmission', [id, oracleA])).price).toBe(RATE + 5n)
})

test('a rate is accepted only from an oracle, from expiry on, until settlement', async () => {
  const id = await create()
  await refuses('Event not expired', oracleA, 'submitRate', [id, RATE])
  await mineAt(expiry)
  await refuses('Not an oracle', stranger, 'submitRate', [id, RATE])
  await refuses('Price is zero', oracleA, 'submitRate', [id, 0n])
  await refuses('Event not found', oracleA, 'submitRate', [99n, RATE])
})

test('extreme rates neither overflow nor block the other oracles', async () => {
  const id = await expired()
  await send(oracleA, 'submitRate', [id, 2n ** 256n - 1n])
  await send(oracleB, 'submitRate', [id, RATE])
  await send(oracleC, 'submitRate', [id, RATE])
  expect(await settled(id)).toEqual({ settlementPrice: RATE, triggered: true })
})

test('the set of oracles grows to ten and shrinks to the quorum, and a removed oracle no longer counts', async () => {
  const more = [...accounts.users, ...accounts.extras].map(({ account }) => account.address)
  expect((await send(owner, 'addOracle', [heir])).logs).toEqual([['OracleAdded', { oracle: heir }]])
  await refuses('Already an oracle', owner, 'addOracle', [heir])
  await refuses('Zero address', owner, 'addOracle', ['0x0000000000000000000000000000000000000000'])
  for (const oracle of more.filter((each) => each !== heir).slice(0, 6)) await send(owner, 'addOracle', [oracle])
  expect((await read('getOracleConfig')).oracleCount).toBe(10n)
  await refuses('Too many oracles', owner, 'addOracle', [on.diamond])

  const id = await expired()
  await send(oracleA, 'submitRate', [id, RATE])
  expect((await send(owner, 'removeOracle', [oracleA])).logs).toEqual([['OracleRemoved', { oracle: oracleA }]])
  expect(await read('isAuthorisedOracle', [oracleA])).toBe(false)
  expect(await read('getOracles')).not.toContain(oracleA)
  await refuses('Not an oracle', owner, 'removeOracle', [oracleA])
  await send(oracleB, 'submitRate', [id, RATE])
  expect(await settled(id)).toBeNull()
  for (const oracle of (await read('getOracles')).slice(2)) await send(owner, 'removeOracle', [oracle])
  const [last] = await read('getOracles')
  if (last === undefined) throw new Error('two oracles are left')
  await refuses('Too few oracles', owner, 'removeOracle', [last])
})

test('a rate from before an oracle’s removal is stale and does not count after the oracle is added again', async () => {
  await send(owner, 'addOracle', [heir])
  const id = await expired()
  await send(oracleA, 'submitRate', [id, RATE])
  await send(owner, 'removeOracle', [oracleA])
  const { timestamp } = await read('getSubmission', [id, oracleA])
  const stale = { price: RATE, timestamp, exists: true, isStale: true }
  expect(await read('getSubmission', [id, oracleA])).toEqual(stale)
  expect(await read('getAllSubmissions', [id])).toMatchObject({ oracleAddresses: [oracleA], isStale: [true] })

  await send(owner, 'addOracle', [oracleA])
  expect(await read('getSubmission', [id, oracleA])).toEqual(stale)
  await send(oracleB, 'submitRate', [id, RATE])
  expect(await settled(id)).toBeNull()
  expect(await read('getAllSubmissions', [id])).toMatchObject({
    oracleAddresses: [oracleA, oracleB],
    isStale: [true, false],
  })
  await send(oracleA, 'submitRate', [id, RATE])
  expect(await settled(id)).toEqual({ settlementPrice: RATE, triggered: true })
})

test('a rate in the block in which its oracle is added again counts by order, not by timestamp', async () => {
  await send(owner, 'addOracle', [heir])
  const id = await expired()
  await on.inOneBlock([
    [oracleA, 'submitRate', [id, RATE]],
    [owner, 'removeOracle', [oracleA]],
    [owner, 'addOracle', [oracleA]],
  ])
  expect((await read('getSubmission', [id, oracleA])).isStale).toBe(true)
  await on.inOneBlock([
    [owner, 'removeOracle', [oracleB]],
    [owner, 'addOracle', [oracleB]],
    [oracleB, 'submitRate', [id, RATE]],
  ])
  expect((await read('getSubmission', [id, oracleB])).isStale).toBe(false)
  expect(await settled(id)).toBeNull()
})

test('the number of signers and the tolerance have bounds', async () => {
  expect((await send(owner, 'setRequiredSigners', [3n])).logs).toEqual([
    ['OracleConfigUpdated', { requiredSigners: 3n, toleranceBps: 700n }],
  ])
  expect((await send(owner, 'setToleranceBps', [1_000n])).logs).toEqual([
    ['OracleConfigUpdated', { requiredSigners: 3n, toleranceBps: 1_000n }],
  ])
  expect(await read('getOracleConfig')).toEqual({
    requiredSigners: 3n,
    toleranceBps: 1_000n,
    oracleCount: 3n,
    maxOracles: 10n,
  })
  await refuses('At least two signers', owner, 'setRequiredSigners', [1n])
  await refuses('Too few oracles', owner, 'setRequiredSigners', [4n])
  await refuses('Tolerance too wide', owner, 'setToleranceBps', [1_001n])
})

test('the owner may clear the rates of an event that is not settled', async () => {
  const id = await expired()
  await refuses('Nothing to clear', owner, 'clearStaleSubmissions', [id])
  await send(oracleA, 'submitRate', [id, RATE])
  expect((await send(owner, 'clearStaleSubmissions', [id])).logs).toEqual([
    ['SubmissionsCleared', { eventId: id, reason: 'Cleared by owner' }],
  ])
  expect(await read('getSubmitterCount', [id])).toBe(0n)
  await send(oracleB, 'submitRate', [id, RATE])
  expect(await settled(id)).toBeNull()
  await refuses('Event not found', owner, 'clearStaleSubmissions', [99n])
  await send(oracleA, 'submitRate', [id, RATE])
  await refuses('Event settled', owner, 'clearStaleSubmissions', [id])
})

test('every function of the oracle owner rejects other callers', async () => {
  const id = await create()
  await refuses('Not owner', stranger, 'addOracle', [stranger])
  await refuses('Not owner', oracleA, 'removeOracle', [oracleB])
  await refuses('Not owner', hedger, 'setRequiredSigners', [2n])
  await refuses('Not owner', stranger, 'setToleranceBps', [1n])
  await refuses('Not owner', oracleA, 'clearStaleSubmissions', [id])
})

test('consensus and the admin can both settle, until only consensus can', async () => {
  const id = await create()
  await settle(id, RATE)
  await refuses('Event settled', oracleA, 'submitRate', [id, RATE])
})

import { type Address, encodeFunctionData, type Hex, numberToHex } from 'viem'
import { describe, expect, inject, test } from 'vitest'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { planOf, usePlans } from '../support/plan-apps.ts'
import { createPlanRunner } from '../support/plan-runner.ts'
import { fees, USDC, useProtocol } from '../support/use-protocol.ts'

/* What becomes of a plan when fees change between it and its transactions. */

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { client, creator, hedger, lp, owner, diamond, send, read, balance, approve, newEvent } = protocol
const { execute, revertOf } = createPlanRunner(protocol)

const api = usePlans({ nodes: [{ url: protocol.url, deployment: protocol.deployment }] })

const event = async (): Promise<bigint> => {
  await send(creator, 'createEvent', [newEvent()])
  const id = await read('getTotalHedgeEvents')
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
  return id
}

const held = (whose: Address) => Promise.all([whose, diamond].map((account) => balance(account)))

/** The codes with which the transactions of a plan revert; null for those that succeed. */
const outcomesOf = async (plan: Plan): Promise<readonly (string | null)[]> =>
  Promise.all((await execute(plan)).map(({ receipt }) => revertOf(receipt)))

const setFees = (creationFee: bigint, hedgerFeeRate: bigint) =>
  send(owner, 'initializeHedgeFees', [
    creationFee,
    hedgerFeeRate,
    fees.payoutFeeRate,
    fees.lpProfitFeeRate,
    fees.creatorLoyaltyRate,
  ])

/**
 * Adds one unit to the premium rate that an event's storage holds. No function of the protocol changes the terms or the
 * fee rates of an event, so only an upgrade could. The LP, who has tokens and an allowance, shows the slots.
 */
const raisePremiumRate = async (data: Hex): Promise<void> => {
  const { premiumRate } = newEvent()
  const { accessList } = await client.createAccessList({ account: lp, to: diamond, data })
  const slots = accessList.filter(({ address }) => address.toLowerCase() === diamond.toLowerCase())
  for (const slot of slots.flatMap(({ storageKeys }) => storageKeys)) {
    if (BigInt((await client.getStorageAt({ address: diamond, slot })) ?? 0) !== premiumRate) continue
    await client.setStorageAt({ address: diamond, index: slot, value: numberToHex(premiumRate + 1n, { size: 32 }) })
    return
  }
  throw new Error('no slot holds the premium rate')
}

const calldataOf = (plan: Plan): Hex => (plan.steps.at(-1)?.transaction.data ?? '0x') as Hex

describe('a purchase', () => {
  const notional = 10_000n * USDC

  test('keeps its cost when the fees of new events rise', async () => {
    const eventId = await event()
    const plan = await planOf(api, 'buy-protection', { from: hedger, eventId, notional })
    await setFees(fees.creationFee + 1n, fees.hedgerFeeRate + 1n)
    const again = await planOf(api, 'buy-protection', { from: hedger, eventId, notional })
    expect(again.cost).toEqual(plan.cost)
    const [before] = await held(hedger)
    expect(await outcomesOf(plan)).toEqual([null])
    const [after] = await held(hedger)
    expect((before ?? 0n) - (after ?? 0n)).toBe(BigInt(plan.cost?.total ?? 0))
  })

  test('that costs one unit more than planned reverts with cost_exceeds_max and loses nothing', async () => {
    const eventId = await event()
    await approve(hedger, 0n)
    const plan = await planOf(api, 'buy-protection', { from: hedger, eventId, notional, approval: 'unlimited' })
    const before = await held(hedger)
    await raisePremiumRate(calldataOf(plan))
    const dearer = await planOf(api, 'buy-protection', { from: hedger, eventId, notional })
    expect(BigInt(dearer.cost?.total ?? 0) - BigInt(plan.cost?.total ?? 0)).toBe(10_050n)
    expect(await outcomesOf(plan)).toEqual([null, 'cost_exceeds_max'])
    expect(await held(hedger)).toEqual(before)
  })

  test('that costs more than planned succeeds within maxCostBps, and takes no more than it costs', async () => {
    const eventId = await event()
    await approve(hedger, 0n)
    const plan = await planOf(api, 'buy-protection', { from: hedger, eventId, notional, maxCostBps: 50 })
    await raisePremiumRate(calldataOf(plan))
    const dearer = await planOf(api, 'buy-protection', { from: hedger, eventId, notional })
    const [before] = await held(hedger)
    expect(await outcomesOf(plan)).toEqual([null, null])
    const [after] = await held(hedger)
    expect((before ?? 0n) - (after ?? 0n)).toBe(BigInt(dearer.cost?.total ?? 0))
  })

  test('whose maxCost is one unit below its cost reverts with cost_exceeds_max', async () => {
    const eventId = await event()
    const plan = await planOf(api, 'buy-protection', { from: hedger, eventId, notional })
    const { maxCost, deadline } = plan.steps[0]?.transaction.args ?? {}
    const [step] = plan.steps
    if (step?.request === undefined) throw new Error('expected a request')
    const args = [eventId, notional, BigInt(String(maxCost)) - 1n, BigInt(String(deadline))] as const
    const data = encodeFunctionData({ abi: protocolAbi, functionName: 'buyProtection', args })
    const before = await held(hedger)
    const short = { ...plan, steps: [{ ...step, request: { ...step.request, data } }] }
    expect(await outcomesOf(short)).toEqual(['cost_exceeds_max'])
    expect(await held(hedger)).toEqual(before)
  })
})

describe('the creation of an event', () => {
  const intent = () => {
    const { expiryDate, ...terms } = newEvent()
    return { from: creator, ...terms, expiry: expiryDate }
  }

  test('reverts with the exact approval when the creation fee rises by one unit, and loses nothing', async () => {
    await approve(creator, 0n)
    const plan = await planOf(api, 'create-event', intent())
    await setFees(fees.creationFee + 1n, fees.hedgerFeeRate)
    const before = await held(creator)
    expect(await outcomesOf(plan)).toEqual([null, 'insufficient_allowance'])
    expect(await held(creator)).toEqual(before)
  })

  test('pays the raised fee with an unlimited approval, since the protocol has no limit for it', async () => {
    await approve(creator, 0n)
    const plan = await planOf(api, 'create-event', { ...intent(), approval: 'unlimited' })
    await setFees(fees.creationFee + 1n, fees.hedgerFeeRate)
    const [before] = await held(creator)
    expect(await outcomesOf(plan)).toEqual([null, null])
    const [after] = await held(creator)
    expect((before ?? 0n) - (after ?? 0n)).toBe(BigInt(plan.cost?.total ?? 0) + 1n)
  })
})

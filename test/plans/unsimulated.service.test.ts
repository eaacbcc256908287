import { type Hex, maxUint256, numberToHex, zeroAddress } from 'viem'
import { afterAll, describe, expect, inject, test } from 'vitest'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { type Alter, startNodeProxy } from '../support/node-proxy.ts'
import { blockingCodes, planOf, refusesOverrides, refusesSimulation, usePlans } from '../support/plan-apps.ts'
import { byForm } from '../support/repetitions.ts'
import { DAI, DAY, USDC, useProtocol } from '../support/use-protocol.ts'

/* Plans over nodes that can neither simulate a block nor call on a changed state. */

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { creator, lp, hedger, stranger, oracleA, usdc, dai, send, read, buy, settle, newEvent, transact } = protocol

/** What a node returns that ignores the state that a call overrides. */
const ignoresOverrides: Alter = (method, result, [call, , overrides]) => {
  if (method !== 'eth_call' || overrides === undefined) return result
  const { from, to } = call as { readonly from?: string; readonly to: string }
  return from === to ? '0x' : numberToHex(0n, { size: 32 })
}

const proxies = { refusing: await startNodeProxy(protocol.url), ignoring: await startNodeProxy(protocol.url) }
proxies.refusing.refuse(refusesOverrides)
proxies.ignoring.refuse(refusesSimulation)
proxies.ignoring.alter(ignoresOverrides)

const openAt = (url: string) => usePlans({ nodes: [{ url, deployment: protocol.deployment }] })
const apps = {
  refusing: openAt(proxies.refusing.url),
  ignoring: openAt(proxies.ignoring.url),
  simulating: openAt(protocol.url),
}
afterAll(() => Promise.all(Object.values(proxies).map((proxy) => proxy.close())))

/** An open event, seeded by its creator, in which the LP has a deposit and the hedger a position. */
const openEvent = async (token = usdc, unit = USDC): Promise<bigint> => {
  await send(creator, 'createEvent', [newEvent({ paymentToken: token, initialLiquidity: 5_000n * unit })])
  const id = await read('getTotalHedgeEvents')
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
  await send(lp, 'deposit', [id, 2_000n * unit])
  await buy(hedger, id, 1_234n * unit + 567n)
  return id
}

/** The facts of a plan that two ways of planning have to agree on. */
const told = ({ cost, payout, executable, issues }: Plan) => ({
  cost: cost && { ...cost, exact: null },
  payout,
  executable,
  codes: issues.map(({ code }) => code),
})

const withoutSimulation = async (action: string, body: Readonly<Record<string, unknown>>): Promise<Plan> => {
  const [refusing, ignoring] = [await planOf(apps.refusing, action, body), await planOf(apps.ignoring, action, body)]
  for (const plan of [refusing, ignoring]) {
    expect(plan.method).toBe(null)
    for (const { simulation, transaction, request } of plan.steps) {
      expect([simulation?.status, transaction.estimatedGas, request]).toEqual(['unavailable', null, undefined])
    }
    expect([plan.cost?.exact ?? false, plan.gasCost, plan.effects.balanceChanges]).toEqual([false, null, []])
  }
  expect(told(refusing)).toEqual(told(ignoring))
  return refusing
}

describe('over nodes that do not simulate', () => {
  const paid = [
    ['DAI', dai, DAI],
    ['USDC', usdc, USDC],
  ] as const
  test.each(paid.slice(0, byForm(1, paid.length)))(
    'the cost of spending %s by the formula is the cost of the simulation and of the receipt',
    async (_, token, unit) => {
      const eventId = await openEvent(token, unit)
      const event = newEvent({ paymentToken: token, initialLiquidity: 777n * unit + 1n })
      const { expiryDate, ...terms } = event
      for (const [action, from, body] of [
        ['buy-protection', hedger, { eventId, notional: 1_999n * unit + 123n, deadlineSeconds: 3_600 }],
        ['buy-protection', hedger, { eventId, notional: 43_478_261n, deadlineSeconds: 3_600 }],
        ['deposit', lp, { eventId, amount: 333n * unit + 1n }],
        ['create-event', creator, { ...terms, expiry: expiryDate }],
      ] as const) {
        const plan = await withoutSimulation(action, { from, ...body })
        const simulated = await planOf(apps.simulating, action, { from, ...body })
        expect(simulated.cost?.exact).toBe(true)
        expect({ ...plan.cost, exact: true }).toEqual(simulated.cost)
        expect([plan.executable, simulated.executable]).toEqual([true, true])
        const { to, data } = simulated.steps.at(-1)?.transaction ?? {}
        const { moved } = await transact(from, to as Hex, data as Hex)
        expect(Object.values(await moved(token)).find((change) => change < 0n)).toBe(-BigInt(plan.cost?.total ?? 0))
      }
    },
  )

  test('issues come from reads and are those of a simulation', async () => {
    const eventId = await openEvent()
    const rich = { amount: 1_000n * USDC }
    const notional = 100n * USDC
    const settled = await openEvent()
    const [open, done] = [await read('getEventDepositIds', [eventId]), await read('getEventDepositIds', [settled])]
    const [position = 0n] = await read('getEventPositionIds', [settled])
    const [openPosition = 0n] = await read('getEventPositionIds', [eventId])
    await settle(settled, 13_000_000n)
    const cases: readonly (readonly [string, Hex, Readonly<Record<string, unknown>>])[] = [
      ['deposit', lp, { eventId: 99, ...rich }],
      ['deposit', lp, { eventId: settled, ...rich }],
      ['deposit', stranger, { eventId, ...rich }],
      ['buy-protection', hedger, { eventId: 99, notional }],
      ['buy-protection', hedger, { eventId: settled, notional }],
      ['buy-protection', stranger, { eventId, notional }],
      ['claim-payout', hedger, { positionId: 99 }],
      ['claim-payout', stranger, { positionId: position }],
      ['claim-payout', hedger, { positionId: openPosition }],
      ['claim-premiums', lp, { depositId: 99 }],
      ['claim-premiums', stranger, { depositId: open[0] }],
      ['withdraw-capital', lp, { depositId: 99 }],
      ['withdraw-capital', stranger, { depositId: done[0] }],
      ['withdraw-capital', lp, { depositId: open[1] }],
      ['withdraw-creator-earnings', creator, { eventId: 99 }],
      ['withdraw-creator-earnings', stranger, { eventId }],
      ['withdraw-creator-earnings', creator, { eventId }],
      ['set-pool-settings', creator, { eventId: 99, poolOpen: true, allowExternalLp: true }],
      ['set-pool-settings', stranger, { eventId, poolOpen: true, allowExternalLp: true }],
      ['set-pool-settings', creator, { eventId: settled, poolOpen: true, allowExternalLp: true }],
      ['submit-rate', oracleA, { eventId: 99, price: 1n }],
      ['submit-rate', oracleA, { eventId, price: 1n }],
    ]
    const differing: unknown[] = []
    for (const [action, from, body] of cases) {
      const [plan, simulated] = [
        await withoutSimulation(action, { from, ...body }),
        await planOf(apps.simulating, action, { from, ...body }),
      ]
      const [found, expected] = [blockingCodes(plan), blockingCodes(simulated)]
      if (found.join() !== expected.join()) differing.push([action, body, found, expected])
    }
    expect(differing).toEqual([])
  })

  test('claims and settings that succeed are executable', async () => {
    const eventId = await openEvent()
    const deposits = await read('getEventDepositIds', [eventId])
    const [positionId = 0n] = await read('getEventPositionIds', [eventId])
    const premiums = await withoutSimulation('claim-premiums', { from: lp, depositId: deposits[1] })
    expect([premiums.executable, premiums.payout]).toEqual([true, null])
    expect(
      (await withoutSimulation('set-pool-settings', { from: creator, eventId, poolOpen: true, allowExternalLp: true }))
        .executable,
    ).toBe(true)
    await settle(eventId, 13_000_000n)
    for (const [action, from, body] of [
      ['claim-payout', hedger, { positionId }],
      ['withdraw-capital', lp, { depositId: deposits[1] }],
      ['claim-premiums', lp, { depositId: deposits[1] }],
      ['revoke-approval', lp, { token: usdc }],
    ] as const)
      expect([action, blockingCodes(await withoutSimulation(action, { from, ...body }))]).toEqual([action, []])
  })

  test('an approval is planned, and calls for a wallet are returned', async () => {
    const eventId = await openEvent()
    await protocol.approve(lp, 5n)
    const plan = await withoutSimulation('deposit', { from: lp, eventId, amount: 100n * USDC })
    expect(plan.steps.map(({ id }) => id)).toEqual(['approve', 'deposit'])
    expect(plan.walletCalls?.calls.length).toBe(2)
    expect(plan.issues).toMatchObject([
      { code: 'insufficient_allowance', blocking: false, have: '5', need: '100000000' },
    ])
  })

  test('absurd amounts and the default token have a plan', async () => {
    const eventId = await openEvent()
    for (const [action, body] of [
      ['deposit', { eventId, amount: maxUint256 }],
      ['buy-protection', { eventId, notional: maxUint256, maxCostBps: 10_000 }],
      ['create-event', { ...eventTerms(), initialLiquidity: maxUint256 }],
    ] as const) {
      const plan = await withoutSimulation(action, { from: creator, ...body })
      expect(blockingCodes(plan)).toContain('insufficient_balance')
    }
    const plan = await withoutSimulation('create-event', { from: creator, ...eventTerms(), paymentToken: zeroAddress })
    expect([plan.cost?.total, plan.cost?.token]).toEqual([String(10_005n * USDC), usdc])
  })
})

const eventTerms = () => {
  const { expiryDate, ...terms } = newEvent()
  return { ...terms, expiry: expiryDate + DAY }
}

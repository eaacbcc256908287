import type { Hex } from 'viem'
import { expect, inject, onTestFinished, test } from 'vitest'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { Portfolio } from '../../src/reads/portfolio/records.ts'
import { chainOf } from '../../src/reads/read.ts'
import { openApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { indexAll } from '../support/index-all.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { blockingCodes, planOf, refusesSimulation } from '../support/plan-apps.ts'
import { createPlanRunner } from '../support/plan-runner.ts'
import { DAI, USDC, useProtocol } from '../support/use-protocol.ts'

/* Plans that claim everything of a wallet, which the index lists. */

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { creator, lp, hedger, usdc, dai, diamond, send, read, buy, settle, newEvent, balance, at, now } = protocol
const { execute, revertOf } = createPlanRunner(protocol)

/** The API over an index of its own, and over a node with or without `eth_simulateV1`. */
const openIndexed = async (method: 'eth_simulateV1' | 'eth_call') => {
  const proxy = await startNodeProxy(protocol.url)
  onTestFinished(proxy.close)
  if (method === 'eth_call') proxy.refuse(refusesSimulation)
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  const node = { url: proxy.url, deployment: { ...protocol.deployment, startBlock: protocol.deployBlock } }
  const api = await openApp({ nodes: [node], databaseUrl: database.url, headMaxAgeMs: -1 })
  onTestFinished(api.close)
  return {
    ...api,
    proxy,
    index: () => indexAll({ chain: chainOf(api.sources.chains, 8453), database: api.database }),
  }
}

/** An event of the creator in which it also has a deposit and positions; settled so that positions are paid. */
const settledEvent = async (token: Hex, unit: bigint, positions: number): Promise<bigint> => {
  const expiryDate = (await now()) + 3_600n
  await send(creator, 'createEvent', [newEvent({ paymentToken: token, initialLiquidity: 50_000n * unit, expiryDate })])
  const id = await read('getTotalHedgeEvents')
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
  await send(lp, 'deposit', [id, 2_000n * unit])
  for (let nth = 0; nth < positions; nth += 1) await buy(creator, id, 100n * unit + BigInt(nth * 7_919))
  await buy(hedger, id, 1_000n * unit)
  await settle(id, 13_000_000n)
  return id
}

/** The action of each kind of claim. */
const claimNames: Readonly<Record<string, string>> = {
  payout: 'claim-payout',
  premiums: 'claim-premiums',
  capital: 'withdraw-capital',
}

const held = async (whose: Hex) => Promise.all([usdc, dai].map((token) => balance(whose, token)))

/** Sends the requests of a plan and checks what it announced. */
const checked = async (plan: Plan): Promise<void> => {
  const accounts = [plan.from as Hex, diamond]
  const before = await Promise.all(accounts.map(held))
  const receipts = await execute(plan)
  for (const { receipt, id } of receipts)
    expect([id, receipt.status, await revertOf(receipt)]).toEqual([id, 'success', null])
  const after = await Promise.all(accounts.map(held))
  const changes = accounts.flatMap((account, nth) =>
    [usdc, dai].flatMap((token, at) => {
      const change = (after[nth]?.[at] ?? 0n) - (before[nth]?.[at] ?? 0n)
      return change === 0n ? [] : [`${account} ${token} ${change}`]
    }),
  )
  expect(
    plan.effects.balanceChanges.map(({ account, token, amount }) => `${account} ${token} ${amount}`).toSorted(),
  ).toEqual(changes.toSorted())
  const margins = receipts.map(({ receipt, request }) => Number(request.gas) / Number(receipt.gasUsed))
  console.log(
    `${profile} ${plan.method}: ${receipts.length} claims, gas limit / gas used at least ${Math.min(...margins).toFixed(2)}`,
  )
  for (const { payout } of plan.steps)
    expect([BigInt(payout?.fee ?? -1) >= 0n, BigInt(payout?.gross ?? 0) - BigInt(payout?.fee ?? 0)]).toEqual([
      true,
      BigInt(payout?.net ?? -1),
    ])
  const net = plan.steps.reduce((sum, { payout }) => sum + BigInt(payout?.net ?? 0), 0n)
  const gained = plan.effects.balanceChanges.filter(({ account }) => account === plan.from)
  expect(gained.reduce((sum, { amount }) => sum + BigInt(amount), 0n)).toBe(net)
}

/**
 * The fewest requests to a node of two plans: a method that a node lacked is tried again after 5 seconds, which costs
 * the plan of that moment one more.
 */
const requestsOfPlan = async (api: Awaited<ReturnType<typeof openIndexed>>): Promise<number> => {
  const counts: number[] = []
  for (let nth = 0; nth < 2; nth += 1) {
    api.proxy.requests()
    await planOf(api, 'claim-all', { from: creator })
    counts.push(api.proxy.requests())
  }
  return Math.min(...counts)
}

test.each(['eth_simulateV1', 'eth_call'] as const)(
  'one plan claims the payouts, premiums, capital and earnings of a wallet in two tokens (%s)',
  async (method) => {
    await settledEvent(usdc, USDC, 2)
    await settledEvent(dai, DAI, 2)
    const api = await openIndexed(method)
    await api.index()
    const plan = await planOf(api, 'claim-all', { from: creator })
    expect([plan.method, plan.executable, plan.remaining, plan.cost, plan.issues]).toEqual([method, true, 0, null, []])
    // Each event has two positions, one deposit with premiums and capital, and earnings.
    const kinds = plan.steps.map(({ id }) => id.replace(/-\d+$/, ''))
    const counts = Object.fromEntries(
      [...new Set(kinds)].map((kind) => [kind, kinds.filter((it) => it === kind).length]),
    )
    expect(counts).toEqual({
      'claim-payout': 4,
      'claim-premiums': 2,
      'withdraw-capital': 2,
      'withdraw-creator-earnings': 2,
    })
    // The payouts are in two tokens, so they have no sum.
    expect(plan.payout).toBe(null)
    // Claims add to the earnings of a creator, so these are not the amounts before the plan.
    const listed = Portfolio.parse(
      (await api.get(`/wallets/${creator}/portfolio?chainId=8453`)).data,
    ).claimables.filter(({ kind }) => kind !== 'creator-earnings')
    const announced = plan.steps.filter(({ id }) => !id.startsWith('withdraw-creator-earnings'))
    expect(
      listed.map(({ kind, id, amount, fee, net }) => [claimNames[kind], id, amount, fee, net].join()).toSorted(),
    ).toEqual(
      announced
        .map(({ id, payout }) =>
          [id.replace(/-\d+$/, ''), id.match(/\d+$/), payout?.gross, payout?.fee, payout?.net].join(),
        )
        .toSorted(),
    )
    expect(await requestsOfPlan(api)).toBeLessThanOrEqual(3)
    await checked(plan)
    await api.index()
    const empty = await planOf(api, 'claim-all', { from: creator })
    expect([empty.steps, empty.executable, empty.walletCalls, empty.remaining]).toEqual([[], false, null, 0])
    expect(empty.issues).toMatchObject([{ code: 'nothing_to_claim', blocking: true }])
    expect(empty.summary).toBe('Nothing to do.')
    expect((await read('getHedgeEventStats', [1n])).creatorEarnings).toBe(0n)
  },
)

// One call that runs all claims has more limits than a block of them.
// `test/plans/plan.test.ts` has the same limit with calls in memory.
test.runIf(inject('form') === 'long').each(['eth_simulateV1', 'eth_call'] as const)(
  'a plan has 50 claims at most, and the next one has the rest (%s)',
  async (method) => {
    await settledEvent(usdc, USDC, 52)
    const api = await openIndexed(method)
    await api.index()
    const plan = await planOf(api, 'claim-all', { from: creator })
    // 52 payouts, premiums, capital and earnings.
    expect([plan.executable, plan.steps.length, plan.remaining]).toEqual([true, 50, 5])
    expect(plan.payout?.token).toBe(usdc)
    expect(plan.summary).toMatch(/, then do 45 more calls\.$/)
    expect(await requestsOfPlan(api)).toBeLessThanOrEqual(3)
    await checked(plan)
    await api.index()
    const rest = await planOf(api, 'claim-all', { from: creator })
    expect([rest.executable, rest.steps.length, rest.remaining]).toEqual([true, 5, 0])
    expect(rest.steps.at(-1)?.id).toBe('withdraw-creator-earnings-1')
    await checked(rest)
    expect(await held(diamond)).not.toContain(undefined)
  },
)

test.runIf(inject('form') === 'long').each(['eth_simulateV1', 'eth_call'] as const)(
  'a plan has 50 claims although 30 others, which come first, revert (%s)',
  async (method) => {
    await settledEvent(usdc, USDC, 102)
    const api = await openIndexed(method)
    await api.index()
    const all = await planOf(api, 'claim-all', { from: creator })
    // 102 payouts, premiums, capital and earnings.
    expect([all.steps.length, all.remaining]).toEqual([50, 55])
    const taken = all.steps.slice(0, 30)
    await execute({ ...all, steps: taken })
    const plan = await planOf(api, 'claim-all', { from: creator })
    expect(await requestsOfPlan(api)).toBeLessThanOrEqual(3)
    expect([plan.executable, plan.steps.length, plan.remaining]).toEqual([true, 50, 25])
    expect(plan.issues.map(({ blocking, step }) => [blocking, step])).toEqual(taken.map(({ id }) => [false, id]))
    await checked(plan)
    await api.index()
    const rest = await planOf(api, 'claim-all', { from: creator })
    expect([rest.executable, rest.steps.length, rest.remaining, rest.issues]).toEqual([true, 25, 0, []])
  },
)

test('a payout is planned until the second before the protocol may take it', async () => {
  const early = await settledEvent(usdc, USDC, 1)
  const late = await settledEvent(dai, DAI, 1)
  const api = await openIndexed('eth_simulateV1')
  await api.index()
  const [earlyId, lateId] = await Promise.all(
    [early, late].map(async (id) => (await read('getEventPositionIds', [id]))[0] ?? 0n),
  )
  if (earlyId === undefined || lateId === undefined) throw new Error('expected two positions')
  const untilOf = async (action: string, body: object = {}) =>
    BigInt((await planOf(api, action, { from: creator, ...body })).validUntil.timestamp ?? 0)
  const until = await untilOf('claim-payout', { positionId: earlyId })
  expect(await untilOf('claim-all')).toBe(until)
  expect(await untilOf('claim-payout', { positionId: lateId })).toBeGreaterThan(until)
  const [depositId = 0n] = await read('getEventDepositIds', [early])
  expect(await untilOf('withdraw-capital', { depositId })).toBe(0n)

  const { owner } = protocol
  await protocol.mineAt(until)
  expect(await protocol.outcome(owner, 'recoverExpiredPayouts', [early])).toMatch(/^Grace period/)
  expect(await protocol.outcome(creator, 'claimPayout', [earlyId])).toBe('success')
  await protocol.mineAt(until + 1n)
  // The payout is not lost yet, but the next block may take it.
  expect(await untilOf('claim-payout', { positionId: earlyId })).toBeGreaterThan(until)
  await send(owner, 'recoverExpiredPayouts', [early])
  expect(await protocol.outcome(creator, 'claimPayout', [earlyId])).not.toBe('success')
  const lost = await planOf(api, 'claim-payout', { from: creator, positionId: earlyId })
  expect([lost.executable, lost.validUntil.timestamp]).toEqual([false, null])
})

test('claims that another transaction has taken are left out and announced', async () => {
  const id = await settledEvent(usdc, USDC, 1)
  const deposits = await read('getEventDepositIds', [id])
  const depositId = deposits.at(-1) ?? 0n
  const api = await openIndexed('eth_simulateV1')
  await api.index()
  await send(lp, 'claimPremiums', [depositId])
  await at((await now()) + 1n)
  const plan = await planOf(api, 'claim-all', { from: lp })
  const step = `claim-premiums-${depositId}`
  expect([plan.executable, plan.issues]).toMatchObject([true, [{ code: 'no_premiums', blocking: false, step }]])
  expect(plan.steps.map((each) => each.id)).toEqual([`withdraw-capital-${depositId}`])
  await checked(plan)
  const nothing = await planOf(api, 'claim-all', { from: lp })
  expect(blockingCodes(nothing)).toEqual(['nothing_to_claim'])
})

test('a wallet without anything on the chain has nothing to claim, and without a database the plan is 503', async () => {
  const api = await openIndexed('eth_simulateV1')
  await api.index()
  const plan = await planOf(api, 'claim-all', { from: protocol.stranger })
  expect(plan.issues.map(({ code }) => code)).toEqual(['nothing_to_claim'])
  const blind = await openApp({ nodes: [{ url: protocol.url, deployment: protocol.deployment }] })
  onTestFinished(blind.close)
  const { status } = await blind.post('/plans/claim-all', { chainId: 8453, from: creator })
  expect(status).toBe(503)
})

import { type Address, maxUint256, parseEther, zeroAddress } from 'viem'
import { afterAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { openApp } from '../support/app.ts'
import { deployHostileToken, type Manner, manners } from '../support/hostile-token.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { blockingCodes, planOf, refusesOverrides, refusesSimulation, usePlans } from '../support/plan-apps.ts'
import { createPlanRunner } from '../support/plan-runner.ts'
import { receiptOf } from '../support/receipt.ts'
import { byForm, seed } from '../support/repetitions.ts'
import { DAI, DAY, USDC, useProtocol } from '../support/use-protocol.ts'

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { client, creator, lp, hedger, owner, stranger, diamond, usdc, dai, send, read, buy, approve, mint, deploy } =
  protocol
const { newEvent, now, settle, balance } = protocol
const { execute, revertOf } = createPlanRunner(protocol)

const proxy = await startNodeProxy(protocol.url)
/** An app with an empty memory of tokens and of what nodes lack, over the proxy. */
const open = () => openApp({ nodes: [{ url: proxy.url, deployment: protocol.deployment }], headMaxAgeMs: -1 })
const api = usePlans({ nodes: [{ url: proxy.url, deployment: protocol.deployment }] })
afterAll(proxy.close)

const event = async (token: Address = usdc, unit = USDC, days = 30n): Promise<bigint> => {
  const chosen = { paymentToken: token, initialLiquidity: 10_000n * unit, expiryDate: (await now()) + days * DAY }
  await send(creator, 'createEvent', [newEvent(chosen)])
  const id = await read('getTotalHedgeEvents')
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
  return id
}

const createIntent = (token: Address = usdc, unit = USDC) => {
  const { expiryDate, ...terms } = newEvent({ paymentToken: token, initialLiquidity: 10_000n * unit })
  return { ...terms, expiry: expiryDate }
}

describe('the requests to nodes of a plan', () => {
  test.each([
    ['a node with eth_simulateV1', () => undefined],
    ['a node without it', refusesSimulation],
    ['a node that does not simulate at all', refusesOverrides],
  ])('are three at most after the first plan of a token, with %s', async (_, refuse) => {
    const fresh = await open()
    try {
      proxy.refuse(refuse)
      const counts: Record<string, number> = {}
      // An event's token that is not configured is the harder case.
      const eventId = await event(dai, DAI)
      await buy(hedger, eventId, 1_000n * DAI)
      const [depositId = 0n] = await read('getEventDepositIds', [eventId])
      const [positionId = 0n] = await read('getEventPositionIds', [eventId])
      const inUsdc = await event()
      const plans = [
        ['buy-protection', hedger, { eventId, notional: 100n * DAI }],
        ['deposit', lp, { eventId, amount: 100n * DAI }],
        ['deposit', lp, { eventId: inUsdc, amount: 100n * USDC }],
        ['create-event', creator, createIntent(dai, DAI)],
        ['claim-premiums', creator, { depositId }],
        ['claim-payout', hedger, { positionId }],
        ['withdraw-creator-earnings', creator, { eventId }],
        ['set-pool-settings', creator, { eventId, poolOpen: true, allowExternalLp: true }],
        ['submit-rate', creator, { eventId, price: 1n }],
        ['revoke-approval', lp, { token: dai }],
      ] as const
      for (const [action, from, body] of plans) {
        await planOf(fresh, action, { from, ...body })
        // A method that a node lacked is tried again after 5 seconds, which costs the plan of that moment one more.
        for (let tries = 0; tries < 2 && (counts[action] ?? 4) > 3; tries += 1) {
          proxy.requests()
          await planOf(fresh, action, { from, ...body })
          counts[action] = proxy.requests()
        }
      }
      console.log(`requests to a node: ${JSON.stringify(counts)}`)
      expect(Object.entries(counts).filter(([, requests]) => requests > 3)).toEqual([])
    } finally {
      proxy.honest()
      await fresh.close()
    }
  })
})

describe('tokens that misbehave', () => {
  const one: readonly Manner[] = [manners[seed % manners.length] ?? 'honest']
  const tested = byForm(one, manners)

  test.each(tested)('a token of the kind %s has plans that say what happens', async (manner) => {
    const hostile = await deployHostileToken(protocol)
    const { token } = hostile
    await send(owner, 'setAllowedPaymentToken', [token, true])
    for (const rich of [creator, lp, hedger]) {
      await mint(rich, 1_000_000n * DAI, token)
      await approve(rich, maxUint256, token)
    }
    const eventId = await event(token, DAI)
    const settled = await event(token, DAI, 1n)
    await buy(hedger, settled, 1_000n * DAI)
    const [depositId = 0n] = await read('getEventDepositIds', [settled])
    const [positionId = 0n] = await read('getEventPositionIds', [settled])
    await settle(settled, 13_000_000n)
    await hostile.behave(manner, 'claimPayout', [positionId])
    const known: Record<string, string> = {}
    for (const refuse of [() => undefined, refusesSimulation, refusesOverrides]) {
      proxy.refuse(refuse)
      const fresh = await open()
      for (const [action, from, body] of [
        ['deposit', lp, { eventId, amount: 100n * DAI }],
        ['buy-protection', hedger, { eventId, notional: 100n * DAI }],
        ['create-event', creator, createIntent(token, DAI)],
        ['claim-payout', hedger, { positionId }],
        ['withdraw-capital', creator, { depositId }],
        ['revoke-approval', lp, { token }],
      ] as const) {
        const plan = await planOf(fresh, action, { from, force: true, ...body })
        if (refuse === refusesOverrides) continue
        known[`${action} ${plan.method}`] = blockingCodes(plan).join()
        const id = await client.snapshot()
        const held = await balance(from, token)
        const codes = await Promise.all((await execute(plan)).map(({ receipt }) => revertOf(receipt)))
        expect([action, plan.method, plan.executable]).toEqual([action, plan.method, codes.every((it) => it === null)])
        for (const code of codes) if (code !== null) expect(blockingCodes(plan)).toContain(code)
        const change = plan.effects.balanceChanges.find((it) => it.account === from && it.token === token)
        expect([action, BigInt(change?.amount ?? 0)]).toEqual([action, (await balance(from, token)) - held])
        await client.revert({ id })
      }
      await fresh.close()
    }
    proxy.honest()
    console.log(profile, manner, JSON.stringify(known))
  })

  // Init code of contracts that do the same on every call.
  const costly = [
    ['returns 3 MiB', '0x66623000006000f360005260076019f3'],
    ['uses up all gas', '0x635b6000566000526004601cf3'],
    ['reverts with 640 KiB', '0x66620A00006000fd60005260076019f3'],
    ['reverts with 3 MiB', '0x66623000006000fd60005260076019f3'],
  ] as const
  test.each(costly.slice(0, byForm(2, costly.length)))('an address that %s holds up nothing else', async (_, data) => {
    const { contractAddress } = await receiptOf(
      client,
      await client.sendTransaction({ account: owner, data, chain: null }),
    )
    const token = contractAddress as Address
    const eventId = await event()
    const fresh = await open()
    onTestFinished(() => fresh.close())
    for (let times = 0; times < 2; times += 1) {
      const created = await planOf(fresh, 'create-event', { from: creator, ...createIntent(token) })
      expect(created.executable).toBe(false)
      const revoked = await planOf(fresh, 'revoke-approval', { from: creator, token })
      expect([revoked.executable, revoked.method === null]).toEqual([false, false])
      const body = { chainId: 8453, token, spender: diamond, amount: '1', from: creator }
      for (let nth = 0; nth < 3; nth += 1) expect((await fresh.post('/tx/erc20/approve', body)).status).toBe(200)
    }
    const plan = await planOf(fresh, 'deposit', { from: lp, eventId, amount: 100n * USDC })
    expect([plan.executable, plan.method]).toEqual([true, 'eth_simulateV1'])
    const { status, headers } = await fresh.get(`/hedge/events/8453/${eventId}/stats`)
    expect([status, headers['x-data-source'], headers['x-stale']]).toEqual([200, 'chain', undefined])
  })

  test('addresses that are no tokens have plans', async () => {
    const { initialLiquidity, ...terms } = createIntent()
    const precompile = '0x0000000000000000000000000000000000000004'
    for (const paymentToken of byForm([zeroAddress, precompile], [zeroAddress, stranger, diamond, precompile] as const))
      for (const from of byForm([creator, diamond], [creator, stranger, diamond, usdc, zeroAddress] as const)) {
        const plan = await planOf(api, 'create-event', { ...terms, from, paymentToken, initialLiquidity })
        if (plan.executable) expect([paymentToken, from]).toEqual([zeroAddress, creator])
        await planOf(api, 'revoke-approval', { from, token: paymentToken === zeroAddress ? dai : paymentToken })
      }
  })
})

test('a token that changes an allowance only from or to 0 has it reset before it is raised', async () => {
  const token = await deploy('StrictToken')
  await send(owner, 'setAllowedPaymentToken', [token, true])
  for (const rich of [creator, lp, hedger]) {
    await mint(rich, 1_000_000n * USDC, token)
    await approve(rich, 20_000n * USDC, token)
  }
  const eventId = await event(token, USDC)
  for (const refuse of [() => undefined, refusesSimulation]) {
    proxy.refuse(refuse)
    await approve(lp, 0n, token)
    await approve(lp, 5n, token)
    const plan = await planOf(api, 'deposit', { from: lp, eventId, amount: 100n * USDC })
    expect([plan.executable, plan.steps.map(({ id }) => id)]).toEqual([true, ['reset-approval', 'approve', 'deposit']])
    expect(plan.summary).toBe(
      `Take back the protocol's allowance of STR (${token}), then allow the protocol to take 100 STR, then deposit 100 STR into event 1.`,
    )
    for (const { receipt } of await execute(plan)) expect(receipt.status).toBe('success')
    // From 0, and with enough, there is nothing to reset.
    const fromZero = await planOf(api, 'deposit', { from: lp, eventId, amount: 100n * USDC })
    expect(fromZero.steps.map(({ id }) => id)).toEqual(['approve', 'deposit'])
    await approve(lp, 100n * USDC, token)
    const enough = await planOf(api, 'deposit', { from: lp, eventId, amount: 100n * USDC })
    expect(enough.steps.map(({ id }) => id)).toEqual(['deposit'])
  }
  proxy.honest()
})

describe('the account of a plan', () => {
  test('that is a contract gets no requests, and calls to send through it', async () => {
    const eventId = await event()
    const account = await deploy('BatchAccount')
    await mint(account, 1_000n * USDC)
    for (const refuse of [() => undefined, refusesSimulation]) {
      proxy.refuse(refuse)
      const plan = await planOf(api, 'deposit', { from: account, eventId, amount: 1_000n * USDC })
      expect([plan.executable, plan.steps.map(({ id }) => id)]).toEqual([true, ['approve', 'deposit']])
      expect(plan.steps.filter(({ request }) => request)).toEqual([])
      expect(plan.walletCalls?.calls.length).toBe(2)
      expect(plan.issues).toContainEqual(expect.objectContaining({ code: 'contract_account', blocking: false }))
    }
    proxy.honest()
  })

  test('without the money has the cost of a purchase in its parts', async () => {
    const eventId = await event()
    const body = { eventId, notional: 1_000n * USDC }
    const costs = []
    for (const from of [hedger, '0xffffffffffffffffffffffffffffffffffffffff'])
      costs.push((await planOf(api, 'buy-protection', { from, ...body })).cost)
    expect(costs[1]).toEqual(costs[0])
    expect(costs[0]).toMatchObject({ premium: '23000000', platformFee: '115000', total: '23115000', exact: true })
  })

  test('without coins is reported what the gas may cost', async () => {
    const eventId = await event()
    await client.setBalance({ address: lp, value: 1n })
    const plan = await planOf(api, 'deposit', { from: lp, eventId, amount: 1_000n * USDC })
    expect(plan.issues).toContainEqual(
      expect.objectContaining({ code: 'insufficient_gas_funds', have: '1', need: plan.gasCost?.total }),
    )
    await client.setBalance({ address: lp, value: BigInt(plan.gasCost?.total ?? 0) })
    const funded = await planOf(api, 'deposit', { from: lp, eventId, amount: 1_000n * USDC })
    expect(funded.issues).toEqual([])
    for (const { receipt } of await execute(funded)) expect(receipt.status).toBe('success')
    await client.setBalance({ address: lp, value: parseEther('10000') })
  })
})

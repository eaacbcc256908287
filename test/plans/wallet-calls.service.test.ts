import { type Address, createWalletClient, custom, type Hex, http, type WalletSendCallsParameters } from 'viem'
import { encodeExecuteData } from 'viem/experimental/erc7821'
import { expect, expectTypeOf, inject, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import type { Plan } from '../../src/plans/answer/schema.ts'
import { planOf, usePlans } from '../support/plan-apps.ts'
import { receiptOf } from '../support/receipt.ts'
import { byForm } from '../support/repetitions.ts'
import { USDC, useProtocol } from '../support/use-protocol.ts'

/* The calls of plans as wallets take them (EIP-5792), run as one batch by an account of ERC-7821. */

const profile = inject('profile')
const protocol = await useProtocol(profile)
const { accounts, client, creator, hedger, lp, diamond, usdc, send, read, balance, approve, newEvent, deploy } =
  protocol

const api = usePlans({ nodes: [{ url: protocol.url, deployment: protocol.deployment }] })

const walletOf = (address: Address) => {
  const wallet = [...accounts.users, ...accounts.extras].find(({ account }) => account.address === address)
  if (wallet === undefined) throw new Error(`no key of ${address}`)
  return createWalletClient({ account: wallet.account, transport: http(protocol.url) })
}

/**
 * A provider of a wallet that sends all calls as one transaction to itself: with its first one, the account delegates
 * to the batch account.
 */
const providerOf = (address: Address, delegate: Address) => {
  const wallet = walletOf(address)
  const sent: Hex[] = []
  const provider = custom({
    async request({ method, params }: { readonly method: string; readonly params: WalletSendCallsParameters }) {
      if (method !== 'wallet_sendCalls') throw new Error(`${method} is not supported`)
      const [{ calls, from, version, chainId }] = params
      expect([from, version, chainId]).toEqual([address, '2.0.0', '0x2105'])
      const authorization = await wallet.signAuthorization({
        ...{ contractAddress: delegate, executor: 'self', chainId: Number(chainId) },
        nonce: (await client.getTransactionCount({ address })) + 1,
      })
      const batch = calls.map(({ to = address, data = '0x', value = '0x0' }) => ({ to, data, value: BigInt(value) }))
      const hash = await wallet.sendTransaction({
        ...{ to: address, data: encodeExecuteData({ calls: batch }), chain: null, gas: 3_000_000n },
        authorizationList: [authorization],
      })
      sent.push(hash)
      return { id: hash }
    },
  })
  return { client: createWalletClient({ transport: provider }), sent }
}

type SendCalls = WalletSendCallsParameters[0]

/** Sends the calls of a plan as one atomic batch and returns its receipt. */
const sendCalls = async ({ walletCalls, from }: Plan) => {
  if (walletCalls === null) throw new Error('the plan has no calls')
  expect(walletCalls.atomicRequired).toBe(false)
  const delegate = await deploy('BatchAccount')
  const { client: wallet, sent } = providerOf(from as Address, delegate)
  const calls: SendCalls = { ...walletCalls, atomicRequired: true }
  await wallet.request({ method: 'wallet_sendCalls', params: [calls] })
  const [hash] = sent
  if (hash === undefined) throw new Error('nothing was sent')
  const receipt = await receiptOf(client, hash)
  return { receipt, transaction: await client.getTransaction({ hash }) }
}

/** The balances of payment tokens, of the wallet and then of the protocol. */
const held = (whose: Address) => Promise.all([whose, diamond].map((account) => balance(account)))

const event = async (): Promise<bigint> => {
  await send(creator, 'createEvent', [newEvent()])
  const id = await read('getTotalHedgeEvents')
  if (profile === 'deployed') await send(creator, 'setPoolSettings', [id, true, true])
  return id
}

test("a plan's calls have the type that viem sends", () => {
  expectTypeOf<NonNullable<Plan['walletCalls']>>().toExtend<SendCalls>()
})

test.each(byForm(['buy-protection'] as const, ['buy-protection', 'deposit', 'create-event'] as const))(
  'the approval and the action of %s run as one atomic batch of an account that delegates to an ERC-7821 contract',
  async (action) => {
    const eventId = await event()
    const from = { 'buy-protection': hedger, deposit: lp, 'create-event': creator }[action]
    await approve(from, 0n)
    const { expiryDate, ...terms } = newEvent()
    const bodies = {
      'buy-protection': { eventId, notional: 10_000n * USDC },
      deposit: { eventId, amount: 1_000n * USDC },
      'create-event': { ...terms, expiry: expiryDate },
    }
    const plan = await planOf(api, action, { from, ...bodies[action] })
    expect([plan.executable, plan.steps.map(({ id }) => id)]).toEqual([true, ['approve', action]])
    const before = await held(from)
    const { receipt, transaction } = await sendCalls(plan)
    expect([receipt.status, transaction.type]).toEqual(['success', 'eip7702'])

    const after = await held(from)
    const changes = [from, diamond].map((account, at) => [account, String((after[at] ?? 0n) - (before[at] ?? 0n))])
    expect(plan.effects.balanceChanges.map(({ account, amount }) => [account, amount])).toEqual(changes)
    const counts = {
      eventId: await read('getTotalHedgeEvents'),
      depositId: (await read('getLpDepositIds', [from])).at(-1),
      positionId: (await read('getHedgerPositionIds', [from])).at(-1),
    }
    const { predicted, ...created } = plan.effects.created
    for (const [name, id] of Object.entries(created)) expect(id).toBe(Number(counts[name as keyof typeof counts]))

    // The account has code now and still signs its transactions.
    const next = await planOf(api, action, { from, ...bodies[action] })
    expect([next.executable, next.issues.some(({ code }) => code === 'contract_account')]).toEqual([true, false])
    expect(next.steps.at(-1)?.request?.gas).toMatch(/^0x/)
  },
)

test('a batch that fails in its last call takes back the approval', async () => {
  const eventId = await event()
  await approve(lp, 0n)
  const plan = await planOf(api, 'deposit', { from: lp, eventId, amount: 1_000n * USDC })
  await send(protocol.owner, 'pause', [])
  const before = await held(lp)
  const { receipt } = await sendCalls(plan)
  expect([receipt.status, await held(lp)]).toEqual(['reverted', before])
  expect(
    await client.readContract({ address: usdc, abi: erc20Abi, functionName: 'allowance', args: [lp, diamond] }),
  ).toBe(0n)
})

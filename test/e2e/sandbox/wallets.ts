import { createClient, ExecutionError } from 'fx-protection-client'
import { createWalletClient, custom, type Hex, http } from 'viem'
import { describe, expect, test } from 'vitest'
import { createAccounts } from '../../../src/sandbox/story/accounts.ts'
import { createWalletProvider } from '../../support/wallet-provider.ts'
import { sandbox } from './process.ts'

const chainId = 8453
const client = createClient({ baseUrl: sandbox.url })
const { users, extras } = createAccounts()

/** An account that has payment tokens, and the node has its key. */
const account = users[2]?.account
const [stranger] = extras
if (account === undefined || stranger === undefined) throw new Error('the sandbox has no such accounts')

const rpcUrl = sandbox.rpcUrls[chainId] ?? ''

const walletWith = (options: { batches?: boolean; rejects?: boolean }, address: Hex = account.address) => {
  const { provider, requested } = createWalletProvider({ node: rpcUrl, account: { address }, ...options })
  return { wallet: createWalletClient({ account: address, transport: custom(provider) }), requested }
}

const { data: open } = await client.get('/v1/hedge/events', { chainId, state: 'open', poolOpen: true, limit: 1 })
const eventId = open[0]?.id ?? 0

const purchase = (from: Hex, notional = 10_000_000n) =>
  client.plans.buyProtection({ chainId, from, eventId, notional, maxCostBps: 50 })

const failure = async (execution: Promise<unknown>): Promise<unknown> => {
  const error = await execution.catch((fault: unknown) => fault)
  expect(error).toBeInstanceOf(ExecutionError)
  return error
}

describe('the client executes plans', () => {
  test.each([
    { batches: false, sends: 'eth_sendTransaction' },
    { batches: true, sends: 'wallet_sendCalls' },
  ])('a purchase with a wallet (EIP-5792: $batches) returns the id of the position', async ({ batches, sends }) => {
    const { wallet, requested } = walletWith({ batches })
    const revoke = await client.plans.revokeApproval({ chainId, from: account.address, token: open[0]?.token ?? '' })
    if (revoke.executable) await client.execute(revoke, wallet)
    const plan = await purchase(account.address)
    expect(plan.steps.map(({ id }) => id)).toEqual(['approve', 'buy-protection'])
    const { positionIds, transactions } = await client.execute(plan, wallet)
    expect(requested).toContain(sends)
    expect(transactions.map(({ status, indexed }) => [status, indexed])).toEqual(Array(2).fill(['succeeded', true]))
    const [, purchased] = transactions
    expect(await client.waitForTransaction(chainId, purchased?.hash ?? '')).toMatchObject({
      created: purchased?.created,
    })
    const bought = []
    for await (const row of client.positions.list({ chainId, ids: positionIds })) bought.push(row)
    expect(bought).toMatchObject([{ eventId, notional: 10_000_000n, hedger: account.address }])
  })

  test('what a wallet or a contract rejects is an error with a code and a hint', async () => {
    const rejecting = walletWith({ rejects: true }).wallet
    const plan = await purchase(account.address)
    expect(await failure(client.execute(plan, rejecting))).toMatchObject({ code: 'user_rejected' })
    expect(await failure(client.execute(plan, walletWith({ batches: true, rejects: true }).wallet))).toMatchObject({
      code: 'user_rejected',
    })

    const { wallet } = walletWith({}, stranger.account.address)
    expect(await failure(client.execute(plan, wallet))).toMatchObject({ code: 'wrong_account' })

    const elsewhere = createWalletClient({ account: account.address, transport: http(sandbox.rpcUrls[56]) })
    expect(await failure(client.execute(plan, elsewhere))).toMatchObject({ code: 'wrong_chain' })

    const tooMuch = await purchase(account.address, 10n ** 30n)
    expect(await failure(client.execute(tooMuch, walletWith({}).wallet))).toMatchObject({
      ...{ code: 'insufficient_balance', hint: expect.any(String), hash: undefined },
    })

    const forced = await client.plans.claimPayout({ chainId, from: account.address, positionId: 1, force: true })
    expect(forced.executable).toBe(false)
    // The gas limit of the wallet: a step that reverts has none.
    for (const { request } of forced.steps) if (request !== undefined) request.gas = '0x7a120'
    expect(await failure(client.execute(forced, walletWith({}).wallet))).toMatchObject({
      ...{ code: forced.issues[0]?.code, hint: expect.any(String), hash: expect.stringMatching(/^0x/) },
    })
  })
})

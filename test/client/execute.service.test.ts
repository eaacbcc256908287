import { createClient, type Plan } from 'fx-protection-client'
import { createWalletClient, custom, type Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { batchCode, batchOf, ENTRY_POINT, entryPointCode, operationLog } from '../support/entry-point.ts'
import { startIndexed, type World } from '../support/indexing.ts'
import { type Answers, failureOf } from '../support/memory-wallet.ts'
import { eventually } from '../support/process.ts'
import { byForm } from '../support/repetitions.ts'
import { fault, lost, sendsAndFails, without } from '../support/wallet-answers.ts'
import { createWalletProvider } from '../support/wallet-provider.ts'

/*
 * Plans that wallets of a few kinds send, over a real chain. `execute-wallets.test.ts` and the files next to it have many
 * more kinds, over a chain in memory.
 */

const USDC = 10n ** 6n
const batcher: Hex = '0x00000000000000000000000000000000000ba7c4'

/** No node knows a transaction with this hash. */
const foreign: Hex = `0x${'5a'.repeat(32)}`

type Client = ReturnType<typeof createClient>

let indexed: Awaited<ReturnType<typeof startIndexed>>
let world: World
let client: Client
let baseUrl: string
let from: Hex

beforeAll(async () => {
  indexed = await startIndexed([8453])
  world = indexed.world
  from = world.hedger.account.address
  const { app } = await indexed.open()
  baseUrl = await app.listen({ port: 0, host: '127.0.0.1' })
  client = createClient({ baseUrl })
  await world.actions.node.setCode({ address: batcher, bytecode: batchCode })
})
afterAll(() => indexed?.close())

/** An account with the code of `batchCode` (EIP-7702). */
const delegate = (bytecode: Hex): Promise<void> => world.actions.node.setCode({ address: from, bytecode })
afterEach(() => delegate('0x'))

const walletOf = (answers: Answers = {}, options: { batches?: boolean; atomic?: boolean; rejects?: boolean } = {}) => {
  const node = world.anvil.url
  const made = createWalletProvider({ node, account: { address: from }, batches: true, ...options, answers })
  return { ...made, wallet: createWalletClient({ account: from, transport: custom(made.provider) }) }
}

/** A purchase in two steps, of an amount of its own. */
let notional = 100n * USDC
const purchase = async (): Promise<Plan> => {
  notional += USDC
  const revoke = await client.plans.revokeApproval({ chainId: 8453, from, token: world.deployment.usdc })
  await client.execute(revoke, walletOf({}, { batches: false }).wallet)
  const plan = await client.plans.buyProtection({ chainId: 8453, from, eventId: 1, notional })
  expect(plan.steps.map(({ id }) => id)).toEqual(['approve', 'buy-protection'])
  return plan
}

const held = async (): Promise<number> => (await world.actions.positionsOf(world.hedger)).length

type Case = {
  readonly answers?: Answers
  readonly options?: { batches?: boolean; atomic?: boolean; rejects?: boolean }
  /** Requests that reach the wallet's own sending. */
  readonly sends?: number
}

const buyers: Readonly<Record<string, Case>> = {
  'sends a batch one by one': { sends: 1 },
  'sends a batch as one transaction': { options: { atomic: true }, sends: 1 },
  'has no EIP-5792': { options: { batches: false }, sends: 2 },
  'confirms an atomic batch without receipts': {
    answers: { wallet_getCallsStatus: (own) => without(own, 'receipts') },
    options: { atomic: true },
  },
  'sends the batch and loses the answer': { answers: { wallet_sendCalls: sendsAndFails(lost) } },
}

describe('a purchase buys exactly once with a wallet that', () => {
  // By default a batch and single transactions.
  test.each(Object.entries(buyers).filter((_, at) => byForm(at === 0 || at === 2, true)))(
    '%s',
    async (_, { answers, options, sends }) => {
      if (options?.atomic === true) await delegate(`0xef0100${batcher.slice(2)}`)
      const plan = await purchase()
      const { wallet, sent } = walletOf(answers, options)
      const before = await held()
      const hashes: string[] = []
      const onSent = (hash: string) => void hashes.push(hash)
      const { positionIds, transactions } = await client.execute(plan, wallet, { onSent })
      const { data } = await client.get('/v1/hedge/positions', { chainId: 8453, ids: positionIds.join() })
      expect(data).toMatchObject([{ eventId: 1, notional, hedger: from, createdTx: transactions.at(-1)?.hash }])
      expect(hashes).toEqual(expect.arrayContaining(transactions.map(({ hash }) => hash)))
      expect(new Set(hashes).size).toBe(hashes.length)
      expect(await held()).toBe(before + 1)
      if (sends !== undefined) expect(sent).toHaveLength(sends)
    },
  )
})

test('a purchase is not confirmed by another one of the same wallet', async () => {
  const plan = await purchase()
  await world.actions.approve(world.hedger, world.deployment.usdc)
  await world.actions.buy(world.hedger, 1n, 7n * USDC)
  const { hash } = await world.newest()
  const { wallet } = walletOf({
    wallet_sendCalls: async () => ({ id: '0xabc' }),
    wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ transactionHash: hash }] }),
  })
  const error = await failureOf(client.execute(plan, wallet, { confirmationMs: 1_500 }))
  expect(error).toMatchObject({ code: 'not_confirmed', batchId: '0xabc', hash })
})

test('a step that fails after it was sent is found by what it did', async () => {
  const plan = await purchase()
  let steps = 0
  const answers: Answers = { eth_sendTransaction: (own) => (steps++ === 1 ? sendsAndFails(lost)(own) : own()) }
  const before = await held()
  const { positionIds } = await client.execute(plan, walletOf(answers, { batches: false }).wallet)
  expect(positionIds).toHaveLength(1)
  expect(await held()).toBe(before + 1)
})

describe('a transaction that the wallet', () => {
  /** Sends the second step's transaction, lets the client see it, and mines another one with its nonce. */
  const replaced = async (replacement: (sent: object) => object) => {
    const plan = await purchase()
    const { node, client: chain } = world.actions
    let isSeen = false
    let steps = 0
    const answers: Answers = {
      eth_sendTransaction: async (own, [sent]) => {
        if (steps++ === 0) return own()
        await node.setAutomine(false)
        const hash = await own()
        const replace = async (): Promise<void> => {
          await eventually('the client sees the transaction', () => isSeen)
          const fees = { maxFeePerGas: '0x2540be40000', maxPriorityFeePerGas: '0x2540be400' }
          const params = [{ ...replacement(Object(sent)), ...fees }]
          await chain.request({ method: 'eth_sendTransaction', params } as never)
          await node.setAutomine(true)
          await node.mine({ blocks: 1 })
        }
        replacing = replace()
        return hash
      },
    }
    let replacing = Promise.resolve()
    const watching = createClient({
      baseUrl,
      fetch: async (url, init) => {
        const response = await fetch(String(url).replace(/waitMs=\d+/, 'waitMs=0'), init)
        if ((await response.clone().text()).includes('"status":"pending"')) isSeen = true
        return response
      },
    })
    try {
      return await watching.execute(plan, walletOf(answers, { batches: false }).wallet, { confirmationMs: 30_000 })
    } finally {
      await replacing
    }
  }

  test('speeds up is followed to the one that replaced it', async () => {
    const before = await held()
    const { positionIds, transactions } = await replaced((sent) => sent)
    expect([positionIds.length, transactions.length]).toEqual([1, 2])
    expect(await held()).toBe(before + 1)
  })

  test('cancels is an error with the code transaction_dropped', async () => {
    const before = await held()
    const cancel = ({ nonce, gas }: { readonly nonce?: string; readonly gas?: string }) => ({
      from,
      to: from,
      nonce,
      gas,
    })
    expect(await failureOf(replaced(cancel))).toMatchObject({ code: 'transaction_dropped', hash: expect.any(String) })
    expect(await held()).toBe(before)
  })
})

describe('a bundle of user operations', () => {
  const bundled = (sender: Hex): Answers => {
    let hash: unknown
    return {
      wallet_sendCalls: async (_, [batch]) => {
        const calls = Object(batch).calls.map(({ to, data }: { to: Hex; data: Hex }) => [to, data])
        const failed = [ENTRY_POINT, operationLog(foreign, sender, false)] as const
        const request = { from, to: from, data: batchOf([...calls, failed]), gas: '0x4c4b40' as const }
        hash = await world.actions.client.request({ method: 'eth_sendTransaction', params: [request] } as never)
        return { id: '0xabc' }
      },
      wallet_getCallsStatus: async () => ({ status: 200, receipts: [{ transactionHash: hash }] }),
    }
  }
  beforeEach(async () => {
    await world.actions.node.setCode({ address: ENTRY_POINT, bytecode: entryPointCode })
    await delegate(`0xef0100${batcher.slice(2)}`)
  })

  test('in which the operation of the wallet failed is a failure, with the hash and the id of the batch', async () => {
    const plan = await client.plans.revokeApproval({ chainId: 8453, from, token: world.deployment.usdc })
    const error = await failureOf(client.execute(plan, walletOf(bundled(from)).wallet))
    expect(error).toMatchObject({ code: 'reverted_without_reason', batchId: '0xabc', hash: expect.any(String) })
  })
})

describe('claim-all', () => {
  let eventId: bigint
  beforeEach(async () => {
    const { actions, creator, upward, hedger, owner } = world
    eventId = (await actions.createEvent(creator, { ...upward, expiry: (await actions.now()) + 3_600 })).eventId
    await actions.setPool(creator, eventId, true, true)
    await actions.approve(hedger, world.deployment.usdc)
    for (let bought = 0; bought < 5; bought += 1) await actions.buy(hedger, eventId, 10n * USDC)
    await actions.warp((await actions.now()) + 3_600)
    await actions.settle(owner, eventId, 13_000_000n)
    await indexed.quiet()
  })

  const claims = async (): Promise<Plan> => {
    const plan = await client.plans.claimAll({ chainId: 8453, from })
    expect(plan.steps.length).toBeGreaterThanOrEqual(5)
    return plan
  }
  const unclaimed = async () =>
    (await client.get('/v1/hedge/positions', { chainId: 8453, wallet: from, claimable: true, count: true })).meta.total

  test('goes on step by step when the wallet refuses after its first batch', async () => {
    await delegate(`0xef0100${batcher.slice(2)}`)
    const plan = await claims()
    let sizeLimit = 3
    const answers: Answers = {
      wallet_sendCalls: async (own, [batch]) => {
        if (Object(batch).calls.length > sizeLimit) return fault(5740)()
        sizeLimit = 0
        return own()
      },
    }
    const { transactions } = await client.execute(plan, walletOf(answers, { atomic: true }).wallet)
    expect(transactions.every(({ status }) => status === 'succeeded')).toBe(true)
    expect(await unclaimed()).toBe(0)
  })

  test('that is confirmed without a hash is found by its logs', async () => {
    const plan = await claims()
    const { wallet } = walletOf({ wallet_getCallsStatus: (own) => without(own, 'receipts') })
    const hashes: string[] = []
    const { transactions } = await client.execute(plan, wallet, { onSent: (hash) => void hashes.push(hash) })
    expect(transactions.map(({ hash }) => hash)).toEqual(hashes)
    expect(hashes).toHaveLength(plan.steps.length)
    expect(await unclaimed()).toBe(0)
  })
})

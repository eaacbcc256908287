import type { Plan, Wallet } from 'fx-protection-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useFastClock } from '../support/fast-clock.ts'
import { DIAMOND, FROM, hashOf, TOKEN } from '../support/memory-chain.ts'
import { type Answers, createMemoryWorld, DENIES, failureOf } from '../support/memory-wallet.ts'
import { fault, without } from '../support/wallet-answers.ts'

/* The requests with which `execute` hands transactions and batches to a wallet. */

beforeAll(useFastClock)
afterAll(() => void vi.useRealTimers())

const alone = { batches: false }

describe('the transaction of a step', () => {
  const request = {
    type: '0x2' as const,
    ...({ chainId: '0x2105', nonce: '0x7', from: FROM, to: DIAMOND, data: '0x01', value: '0x5' } as const),
    ...({ gas: '0x5208', maxFeePerGas: '0x64', maxPriorityFeePerGas: '0x2' } as const),
  }
  const withRequest = (plan: Plan): Plan => ({
    ...plan,
    steps: plan.steps.map((step) => ({
      ...step,
      request: { ...request, data: step.transaction.data, to: step.transaction.to },
    })),
  })

  test('is the request of the plan, with its nonce, for a wallet that is a JSON-RPC account', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const { wallet, sent } = walletOf({}, alone)
    await client.execute(withRequest(purchase(1n)), wallet)
    expect(sent).toMatchObject([
      { ...request, to: TOKEN, data: expect.any(String) },
      { nonce: '0x7', to: DIAMOND },
    ])
  })

  test('without a request is the call of the plan, without a nonce', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const { wallet, sent } = walletOf({}, alone)
    const plan = purchase(1n)
    const [first, second] = plan.steps
    if (first === undefined || second === undefined) throw new Error('expected two steps')
    await client.execute(
      { ...plan, steps: [first, { ...second, transaction: { ...second.transaction, value: 17n } }] },
      wallet,
    )
    const { to, data } = second.transaction
    expect(sent[1]).toEqual({ chainId: '0x2105', from: FROM, to, data, value: '0x11' })
  })

  test('after a batch has no nonce of the plan', async () => {
    const { client, walletOf, claims } = createMemoryWorld()
    let most = 3
    const { wallet, sent } = walletOf({
      wallet_sendCalls: (own, [batch]) => {
        if (Object(batch).calls.length > most) return fault(5740)()
        most = 0
        return own()
      },
    })
    await client.execute(withRequest(claims(5)), wallet)
    const singles = sent.slice(1).map((each) => Object(each))
    expect(singles.map(({ nonce, gas }) => [nonce, gas])).toEqual([
      [undefined, '0x5208'],
      [undefined, '0x5208'],
    ])
  })

  test('of an account that signs itself has the numbers of the request', async () => {
    const { client, node, purchase } = createMemoryWorld()
    const sent: Record<string, unknown>[] = []
    const requested: string[] = []
    const wallet: Wallet = {
      account: { address: FROM, type: 'local' },
      request: ({ method, params }: { method: string; params: readonly unknown[] }) => {
        requested.push(method)
        return node(method, params)
      },
      sendTransaction: async (transaction: Record<string, unknown>) => {
        sent.push(transaction)
        return (await node('eth_sendTransaction', [{ ...transaction, from: FROM }])) as `0x${string}`
      },
    }
    const plan = withRequest(purchase(1n))
    expect((await client.execute(plan, wallet)).positionIds).toEqual([1])
    const fees = { gas: 21_000n, maxFeePerGas: 100n, maxPriorityFeePerGas: 2n }
    const account = { account: wallet.account, chain: null, type: 'eip1559', nonce: 7, value: 0n }
    expect(sent).toEqual(plan.steps.map(({ transaction: { to, data } }) => ({ ...account, ...fees, to, data })))
    expect(new Set(requested)).toEqual(new Set(['eth_chainId', 'eth_getBlockByNumber']))
  })
})

describe('a batch', () => {
  /** Refuses batches of more than so many calls; `sizes` are those that it was asked for. */
  const limited = (most: () => number, code = 5740) => {
    const sizes: number[] = []
    const answers: Answers = {
      wallet_sendCalls: async (own, [batch]) => {
        const { length } = Object(batch).calls
        sizes.push(length)
        return length > most() ? fault(code)() : own()
      },
    }
    return { sizes, answers }
  }

  test.each([
    [5, 2, [5, 3, 2, 2, 1]],
    [5, 3, [5, 3, 2]],
    [5, 4, [5, 3, 2]],
    [4, 2, [4, 2, 2]],
    [3, 3, [3]],
  ])('of %i calls is split for a wallet that takes %i', async (count, most, asked) => {
    const { client, walletOf, claims } = createMemoryWorld()
    const { sizes, answers } = limited(() => most)
    const { wallet, sent } = walletOf(answers)
    const plan = claims(count)
    const batches: string[] = []
    const { transactions } = await client.execute(plan, wallet, { onBatch: (id) => void batches.push(id) })
    expect(sizes).toEqual(asked)
    expect(transactions).toHaveLength(count)
    const datas = sent.flatMap((each) => (Object(each).calls ?? [each]).map(({ data }: { data: string }) => data))
    expect(datas).toEqual(plan.steps.map(({ transaction }) => transaction.data))
    expect(new Set(batches).size).toBe(batches.length)
  })

  test('of two calls that is too large is sent as single transactions', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const { sizes, answers } = limited(() => 1)
    const { wallet, requested } = walletOf(answers)
    expect((await client.execute(purchase(1n), wallet)).positionIds).toEqual([1])
    expect(sizes).toEqual([2])
    expect(requested.filter((method) => method === 'eth_sendTransaction')).toHaveLength(2)
  })

  test('of a wallet without batches is not split, whatever its size', async () => {
    const { client, walletOf, claims } = createMemoryWorld()
    const { sizes, answers } = limited(() => 0, 4200)
    expect((await client.execute(claims(8), walletOf(answers).wallet)).transactions).toHaveLength(8)
    expect(sizes).toEqual([8])
  })

  test('that the wallet refused and has is waited for', async () => {
    for (const [status, times] of [
      [100, 1],
      [200, 1],
      [500, 1],
      [400, 2],
      [499, 2],
    ]) {
      const { client, walletOf, purchase } = createMemoryWorld()
      const { wallet, requested } = walletOf({
        wallet_sendCalls: fault(4200),
        wallet_getCallsStatus: async () => ({ status }),
      })
      const execution = client.execute(purchase(1n), wallet, { confirmationMs: 900 })
      if (times === 2) expect((await execution).positionIds).toEqual([1])
      else expect(await failureOf(execution)).toMatchObject({ code: 'not_confirmed' })
      expect(requested.includes('eth_sendTransaction')).toBe(times === 2)
    }
  })

  test('has an id of its steps, and is atomic when the wallet is', async () => {
    for (const atomic of [true, false]) {
      const { client, walletOf, claims } = createMemoryWorld()
      const { answers } = limited(() => 2)
      const { wallet, sent } = walletOf(answers, { atomic })
      const plan = claims(4)
      await client.execute(plan, wallet)
      const part = (...numbers: readonly number[]) => numbers.map((it) => it.toString(16).padStart(12, '0')).join('')
      const ids = [part(100, 0, 2), part(100, 2, 2)].map((numbers) => `${plan.digest}${numbers}`)
      const { version, chainId } = plan.walletCalls ?? {}
      const fields = { version, chainId, from: FROM, atomicRequired: atomic }
      expect(sent).toMatchObject(ids.map((id) => ({ ...fields, id, calls: { length: 2 } })))
      expect(ids[0]).toHaveLength(66)
    }
  })

  test('that the wallet has from an earlier execution is found by what it did then', async () => {
    const { client, walletOf, purchase, positions, mine } = createMemoryWorld()
    const { wallet, sent } = walletOf({ wallet_getCallsStatus: (own) => without(own, 'receipts') })
    const plan = purchase(1n)
    const first = await client.execute(plan, wallet)
    mine(FROM, [])
    expect(await client.execute(plan, wallet)).toEqual(first)
    expect([sent.length, positions.length]).toEqual([2, 1])
  })

  test('is atomic when the wallet is so on every chain', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const capabilities = { '0x0': { atomic: { status: 'supported' } } }
    const { wallet, sent } = walletOf({ wallet_getCapabilities: async () => capabilities }, { atomic: true })
    await client.execute(purchase(1n), wallet)
    expect(sent).toMatchObject([{ atomicRequired: true }])
  })

  test.each([null, '', {}, { id: '' }, { id: 7 }])('has its own id when the wallet returns %j', async (answer) => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const { wallet, sent } = walletOf({ wallet_sendCalls: (own) => own().then(() => answer) })
    const batches: string[] = []
    await client.execute(purchase(1n), wallet, { onBatch: (id) => void batches.push(id) })
    expect(batches).toEqual(sent.map((batch) => Object(batch).id))
  })

  test('whose status is the word of an earlier version is confirmed', async () => {
    const { client, walletOf, claims } = createMemoryWorld()
    const { wallet } = walletOf({
      wallet_getCallsStatus: async (own) => ({ ...Object(await own()), status: 'CONFIRMED' }),
    })
    expect((await client.execute(claims(2), wallet, { confirmationMs: 1_000 })).transactions).toHaveLength(2)
  })

  test('is followed under the id that the wallet returns', async () => {
    const { client, walletOf, purchase } = createMemoryWorld()
    const asked: unknown[] = []
    const { wallet } = walletOf({
      wallet_sendCalls: (own) => own().then(() => ({ id: '0xabc' })),
      wallet_getCallsStatus: async (_, [id]) => {
        asked.push(id)
        return { status: 200 }
      },
    })
    const batches: string[] = []
    await client.execute(purchase(1n), wallet, { onBatch: (id) => void batches.push(id) })
    expect(batches).toEqual(['0xabc'])
    expect(new Set(asked)).toEqual(new Set(['0xabc']))
  })

  test.each([
    ['a batch of claims is found by its logs, sent one by one', false],
    ['a batch of claims is found by its logs, sent as one transaction', true],
  ])('that is confirmed without a hash: %s', async (_, atomic) => {
    const { client, walletOf, claims } = createMemoryWorld()
    const { wallet } = walletOf({ wallet_getCallsStatus: (own) => without(own, 'receipts') }, { atomic })
    const hashes: string[] = []
    const { transactions } = await client.execute(claims(5), wallet, { onSent: (hash) => void hashes.push(hash) })
    expect(transactions.map(({ hash }) => hash)).toEqual(hashes)
    expect(hashes).toHaveLength(atomic ? 1 : 5)
  })

  test('that no log and no hash shows is not reported as failed or not sent', async () => {
    const { client, walletOf, claims } = createMemoryWorld()
    const { wallet } = walletOf({
      wallet_getCallsStatus: (own) => without(own, 'receipts'),
      eth_getLogs: fault(-32005),
    })
    const error = await failureOf(client.execute(claims(5), wallet, { confirmationMs: 1_500 }))
    expect(error).toMatchObject({ code: 'not_confirmed', batchId: expect.any(String) })
    expect(`${error.message} ${error.hint}`).not.toMatch(DENIES)
  })

  test('of which the wallet names at most a thousand transactions has a hundred looked up', async () => {
    const { client, walletOf, claims, requested } = createMemoryWorld()
    const receipts = Array.from({ length: 150 }, (_, at) => ({ transactionHash: hashOf(at + 1) }))
    const { wallet } = walletOf({ wallet_getCallsStatus: async () => ({ status: 100, receipts }) })
    await failureOf(client.execute(claims(2), wallet, { confirmationMs: 400 }))
    expect(new Set(requested.map((url) => url.split('?')[0])).size).toBe(100)
  })
})

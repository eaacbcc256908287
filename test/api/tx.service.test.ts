import { encodeFunctionData, keccak256 } from 'viem'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { protocolAbi } from '../../src/abi/protocol.generated.ts'
import { openApp } from '../support/app.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { receiptOf } from '../support/receipt.ts'
import { startWorld } from '../support/world.ts'

let world: Awaited<ReturnType<typeof startWorld>>
let api: Awaited<ReturnType<typeof openApp>>

// No database: builders and the relay need none.
beforeAll(async () => {
  world = await startWorld()
  api = await openApp({ nodes: [{ url: world.anvil.url, deployment: world.deployment }] })
})
afterAll(async () => {
  await Promise.all([api?.close(), world?.close()])
})

type Built = { to: `0x${string}`; data: `0x${string}`; estimatedGas: string | null }

const approve = (extra: object = {}) => ({
  chainId: 8453,
  token: world.deployment.usdc,
  spender: world.deployment.diamond,
  amount: '12345',
  ...extra,
})

describe('a gas estimate', () => {
  test('is returned when the call would succeed for the wallet', async () => {
    const { data } = await api.post('/tx/erc20/approve', approve({ from: world.lp.account.address }))
    expect(Number((data as Built).estimatedGas)).toBeGreaterThan(21_000)
  })

  test('is null without a wallet', async () => {
    expect(((await api.post('/tx/erc20/approve', approve())).data as Built).estimatedGas).toBeNull()
  })

  test('is null when the call would revert, and the build succeeds', async () => {
    const from = world.stranger.account.address
    const { status, data } = await api.post('/tx/hedge/claim-payout', { chainId: 8453, positionId: 4, from })
    expect([status, (data as Built).estimatedGas]).toEqual([200, null])
  })
})

test('the available capacity can be bought up to the last unit, and not one unit more', async () => {
  const { data } = await api.get('/hedge/events/8453/1/utilization')
  const capacity = BigInt((data as { availableCapacity: string }).availableCapacity)
  const purchase = { chainId: 8453, eventId: 1, maxCost: '1000000000000', deadline: '9999999999' }
  const gasOf = async (notional: bigint): Promise<string | null> => {
    const body = { ...purchase, notional: notional.toString(), from: world.hedger.account.address }
    return ((await api.post('/tx/hedge/buy-protection', body)).data as Built).estimatedGas
  }
  expect(Number(await gasOf(capacity))).toBeGreaterThan(21_000)
  expect(await gasOf(capacity + 1n)).toBeNull()
})

describe('the relay', () => {
  const stranger = () => ({ address: world.stranger.account.address })
  const sign = async (overrides: object = {}) => {
    const { account } = world.stranger
    const { to, data } = (await api.post('/tx/erc20/approve', approve())).data as Built
    const nonce = await world.actions.client.getTransactionCount({ address: account.address })
    const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n, gas: 200_000n }
    return account.signTransaction({ type: 'eip1559', chainId: 8453, to, data, nonce, ...fees, ...overrides })
  }
  const send = (signedTx: string) => api.post('/tx/broadcast', { chainId: 8453, signedTx })

  test('broadcasts a built and signed transaction, which the chain executes', async () => {
    const signed = await sign()
    const { status, data } = await send(signed)
    expect([status, data]).toEqual([200, { txHash: keccak256(signed), simulated: true, warning: null, warnings: [] }])
    await receiptOf(world.actions.client, keccak256(signed))
    const args = [world.stranger.account.address, world.deployment.diamond] as const
    const allowance = { address: world.deployment.usdc, abi: erc20Abi, functionName: 'allowance', args } as const
    expect(await world.actions.client.readContract(allowance)).toBe(12_345n)
  })

  test('accepts the same transaction again while the node has it', async () => {
    await world.actions.node.setAutomine(false)
    try {
      const signed = await sign()
      const [first, second] = [await send(signed), await send(signed)]
      expect([first.status, second.status]).toEqual([200, 200])
      expect(second.data).toEqual({ ...Object(first.data), simulated: false })
    } finally {
      await world.actions.node.setAutomine(true)
      await world.actions.node.mine({ blocks: 1 })
    }
  })

  test('accepts the same transaction again once it is mined', async () => {
    const signed = await sign()
    const first = await send(signed)
    await receiptOf(world.actions.client, keccak256(signed))
    for (const rejectIfReverts of [false, true]) {
      const { status, data } = await api.post('/tx/broadcast', { chainId: 8453, signedTx: signed, rejectIfReverts })
      expect([status, data]).toEqual([200, { ...Object(first.data), simulated: false }])
    }
  })

  describe('simulates a call of the protocol before it is sent', () => {
    /** A deposit for which the wallet has neither tokens nor an allowance. */
    const failing = (overrides: object = {}) =>
      sign({
        to: world.deployment.diamond,
        data: encodeFunctionData({ abi: protocolAbi, functionName: 'deposit', args: [1n, 20n * 10n ** 6n] }),
        gas: 1_000_000n,
        ...overrides,
      })
    const warning = { code: 'insufficient_allowance', reason: expect.any(String), hint: expect.any(String) }

    test('and warns about one that would revert, which is sent', async () => {
      // A busy machine may take longer than the simulation.
      const sendFailing = async () => {
        const signed = await failing()
        const { status, data } = await send(signed)
        expect([status, data]).toMatchObject([200, { txHash: keccak256(signed) }])
        expect((await receiptOf(world.actions.client, keccak256(signed))).status).toBe('reverted')
        return data
      }
      await expect.poll(sendFailing).toMatchObject({ warning })
    })

    test('and does not send one that would revert, if the request asks so', async () => {
      const attempt = async () => {
        const signed = await failing()
        const body = { chainId: 8453, signedTx: signed, rejectIfReverts: true }
        const { status, error } = await api.post('/tx/broadcast', body)
        if (status === 200) await receiptOf(world.actions.client, keccak256(signed))
        return status === 409 ? { signed, error } : null
      }
      const { signed, error } = await vi.waitUntil(attempt, { timeout: 30_000 })
      expect(error?.code).toBe('conflict')
      expect(error?.message).toMatch(/^not sent, because it would revert: .*\(insufficient_allowance\)\. [A-Z]/)
      const found = await api.get(`/transactions/8453/${keccak256(signed)}`)
      expect(found.data).toMatchObject({ status: 'unknown' })
      // A transaction that succeeds is sent.
      const body = { chainId: 8453, signedTx: await sign(), rejectIfReverts: true }
      const approval = await api.post('/tx/broadcast', body)
      expect([approval.status, approval.data]).toMatchObject([200, { warning: null }])
    })

    test('but not while earlier transactions of the sender are not mined, which may change the outcome', async () => {
      await world.actions.node.setAutomine(false)
      try {
        const nonce = await world.actions.client.getTransactionCount(stranger())
        await send(await sign({ nonce }))
        const { status, data } = await send(await failing({ nonce: nonce + 1 }))
        expect([status, data]).toMatchObject([200, { warning: null }])
      } finally {
        await world.actions.node.setAutomine(true)
        await world.actions.node.mine({ blocks: 1 })
      }
    })

    test('and sends it after 300 ms when the node does not answer', async () => {
      const proxy = await startNodeProxy(world.anvil.url)
      const slow = await openApp({ nodes: [{ url: proxy.url, deployment: world.deployment }] })
      try {
        await slow.get('/hedge/paused/8453')
        proxy.delay((methods) => (methods.includes('eth_call') ? 14_000 : 0))
        const began = performance.now()
        const body = { chainId: 8453, signedTx: await failing(), rejectIfReverts: true }
        const { status, data } = await slow.post('/tx/broadcast', body)
        expect([status, data]).toMatchObject([200, { warning: null }])
        expect(performance.now() - began).toBeLessThan(10_000)
      } finally {
        await slow.close()
        await proxy.close()
      }
    })
  })

  test('rejects a transaction for another chain before it reaches a node', async () => {
    const { status, error } = await send(await sign({ chainId: 56 }))
    expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, 'validation_error', 'signedTx'])
  })

  test("returns the node's rejection with its reason", async () => {
    const used = await send(await sign({ nonce: 0, gas: 200_001n }))
    expect([used.status, used.error?.code]).toEqual([502, 'upstream_error'])
    expect(used.error?.message).toMatch(/nonce/i)
    for (const nonsense of ['0x1234', '0x05c101', '0xdeadbeef']) {
      const { status, error } = await send(nonsense)
      expect([nonsense, status, error?.code]).toEqual([nonsense, 502, 'upstream_error'])
    }
  })
})

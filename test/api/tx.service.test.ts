import { keccak256 } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { erc20Abi } from '../../src/abi/erc20.generated.ts'
import { openApp } from '../support/app.ts'
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
    expect([status, data]).toEqual([200, { txHash: keccak256(signed) }])
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
      expect(second.data).toEqual(first.data)
    } finally {
      await world.actions.node.setAutomine(true)
      await world.actions.node.mine({ blocks: 1 })
    }
  })

  test('rejects a transaction for another chain before it reaches a node', async () => {
    const { status, error } = await send(await sign({ chainId: 56 }))
    expect([status, error?.code, error?.details?.[0]?.path]).toEqual([400, 'validation_error', 'signedTx'])
  })

  test("returns the node's rejection with its reason", async () => {
    const used = await send(await sign({ nonce: 0 }))
    expect([used.status, used.error?.code]).toEqual([502, 'upstream_error'])
    expect(used.error?.message).toMatch(/nonce/i)
    for (const nonsense of ['0x1234', '0x123', '0xdeadbeef']) {
      const { status, error } = await send(nonsense)
      expect([nonsense, status, error?.code]).toEqual([nonsense, 502, 'upstream_error'])
    }
  })
})

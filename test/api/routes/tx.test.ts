import { keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { txRoutes } from '../../../src/api/routes/tx.ts'
import type { SignedTx } from '../../../src/chain/broadcast.ts'
import { compiledBuilders } from '../../../src/tx/compiled.ts'
import { DIAMOND, deploymentOf, WALLET } from '../../support/plan-chain.ts'
import { openRoutes } from './route-app.ts'

/* Builders and the relay over fake chains, which see what is simulated and what is sent. */

const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
const signed = (to: `0x${string}` = DIAMOND) =>
  account.signTransaction({
    ...{ type: 'eip1559', chainId: 8453, to, data: '0x12345678', nonce: 3, gas: 50_000n },
    ...{ maxFeePerGas: 7n, maxPriorityFeePerGas: 1n },
  })

const open = async (maxWaiting?: number) => {
  const seen: unknown[][] = []
  const gate = { opened: Promise.resolve() }
  const chainOf = (chainId: 8453 | 56) => ({
    chainId,
    deployment: deploymentOf(chainId),
    async simulate(call: { readonly from: string }, caller: { readonly address: string }) {
      seen.push(['simulate', chainId, call.from, caller.address])
      return { status: 'success', gas: 90n, blockNumber: 5n }
    },
    simulateSigned: async () => ({ error: null }),
    async broadcast({ bytes }: SignedTx, caller: { readonly address: string }) {
      seen.push(['broadcast', chainId, bytes, caller.address])
      await gate.opened
    },
  })
  const kept: unknown[][] = []
  const senders = { keep: (...given: unknown[]) => void kept.push(given), get: () => undefined }
  const chains = new Map(([8453, 56] as const).map((chainId) => [chainId, chainOf(chainId)]))
  const app = await openRoutes((it) =>
    it.register(txRoutes, { chains: chains as never, senders, ...(maxWaiting !== undefined && { maxWaiting }) }),
  )
  const post = async (url: string, payload: object, remoteAddress = '127.0.0.1') => {
    const { statusCode: status, body } = await app.inject({ method: 'POST', url, payload, remoteAddress })
    return { status, ...JSON.parse(body) }
  }
  return { post, seen, kept, gate }
}

describe('a builder', () => {
  const body = { chainId: 8453, eventId: 5, amount: '300' }

  test('is mounted at its path, and returns its call', async () => {
    const { post, seen } = await open()
    const { status, data } = await post('/tx/hedge/deposit', body)
    expect(status).toBe(200)
    expect(data).toMatchObject({
      chainId: 8453,
      to: DIAMOND,
      function: 'deposit',
      args: { eventId: '5', amount: '300' },
    })
    expect([data.value, data.estimatedGas, data.simulation, seen]).toEqual(['0', null, null, []])
    for (const { path } of compiledBuilders) expect([path, (await post(path, {})).status]).toEqual([path, 400])
  })

  test('simulates the call of a wallet on the chain of the body, for the client', async () => {
    const { post, seen } = await open()
    const { data } = await post('/tx/hedge/deposit', { ...body, chainId: 56, from: WALLET })
    expect(seen).toEqual([['simulate', 56, WALLET, '127.0.0.1']])
    expect([data.chainId, data.estimatedGas, data.simulation.status]).toEqual([56, '90', 'success'])
  })

  test('takes a body up to its limit', async () => {
    const { post } = await open()
    const pad = (bytes: number) => ({ ...body, amount: '1', pad: 'x'.repeat(bytes) })
    expect((await post('/tx/hedge/deposit', pad(64_000))).status).toBe(400)
    expect((await post('/tx/hedge/deposit', pad(66_000))).status).toBe(413)
    const larger = compiledBuilders.filter(({ bodyLimit }) => bodyLimit !== undefined)
    for (const { path, bodyLimit = 0 } of larger) {
      expect((await post(path, { pad: 'x'.repeat(bodyLimit - 100) })).status).toBe(400)
      expect((await post(path, { pad: 'x'.repeat(bodyLimit) })).status).toBe(413)
    }
  })
})

describe('the relay', () => {
  test('sends a transaction to its chain for the client, and keeps the sender of a call of the protocol', async () => {
    const { post, seen, kept } = await open()
    const signedTx = await signed()
    const { status, data } = await post('/tx/broadcast', { chainId: 8453, signedTx })
    expect([status, data.txHash, data.simulated]).toEqual([200, keccak256(signedTx), true])
    expect(seen).toEqual([['broadcast', 8453, signedTx, '127.0.0.1']])
    expect(kept).toEqual([[8453, keccak256(signedTx), expect.objectContaining({ from: account.address, nonce: 3n })]])
    await post('/tx/broadcast', { chainId: 8453, signedTx: await signed(WALLET) })
    expect(kept).toHaveLength(1)
  })

  test('takes a transaction of 128 KiB, names the field of a longer one, and does not read one of 144 KiB', async () => {
    const { post, seen } = await open()
    const send = (bytes: number) =>
      post('/tx/broadcast', { chainId: 8453, signedTx: `0x${'00'.repeat(bytes)}`, rejectIfReverts: false })
    expect((await send(131_072)).status).toBe(200)
    const longer = await send(131_073)
    expect([longer.status, longer.error.details]).toEqual([
      400,
      [{ path: 'signedTx', message: 'expected at most 262146 characters: networks reject longer transactions' }],
    ])
    expect((await send(147_456)).status).toBe(413)
    expect(seen).toHaveLength(1)
  })

  test('refuses a broadcast when more wait than may', async () => {
    const { post, seen } = await open(2)
    const signedTx = await signed()
    // One has its turn, and two may wait for theirs.
    const all = await Promise.all(Array.from({ length: 4 }, () => post('/tx/broadcast', { chainId: 8453, signedTx })))
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 503])
    const refused = all.find(({ status }) => status === 503)
    expect(refused?.error.message).toBe('too many broadcasts at once: retry after 1 s')
    expect(seen).toHaveLength(3)
    expect((await post('/tx/broadcast', { chainId: 8453, signedTx })).status).toBe(200)
  })

  test('takes a broadcast of one client while those of another one are too many', async () => {
    const { post } = await open(2)
    const body = { chainId: 8453, signedTx: await signed() }
    const flood = Promise.all(Array.from({ length: 8 }, () => post('/tx/broadcast', body, '192.0.2.1')))
    expect((await post('/tx/broadcast', body, '192.0.2.2')).status).toBe(200)
    expect((await flood).filter(({ status }) => status === 503)).toHaveLength(6)
  })

  test('gives the turn to the next one while a node takes its time', async () => {
    const { post, seen, gate } = await open()
    let release = () => {}
    gate.opened = new Promise((resolve) => {
      release = resolve
    })
    const signedTx = await signed()
    const all = Promise.all([1, 2].map(() => post('/tx/broadcast', { chainId: 8453, signedTx })))
    await expect.poll(() => seen.length).toBe(2)
    release()
    expect((await all).map(({ status }) => status)).toEqual([200, 200])
  })
})

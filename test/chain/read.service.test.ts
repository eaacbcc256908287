import { pino } from 'pino'
import { type Hex, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { aggregateBytecode } from '../../src/abi/aggregate.generated.ts'
import { createNode } from '../../src/chain/pool/failover.ts'
import { createEndpointRegistry } from '../../src/chain/pool/registry.ts'
import { createReader } from '../../src/chain/read.ts'
import { type Block, getBlock, viewCall } from '../../src/chain/rpc/requests.ts'
import type { Outcome } from '../../src/chain/rpc/transport.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { type Call, call } from '../../src/protocol/abi/outputs.ts'
import { ownerSlot } from '../../src/protocol/abi/slots.ts'
import { oneByOne, startNodeProxy } from '../support/node-proxy.ts'
import { receiptOf } from '../support/receipt.ts'
import { useProtocol } from '../support/use-protocol.ts'

const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

const protocol = await useProtocol()
const { diamond } = protocol.deployment

const closers = createClosers()
let proxy: Awaited<ReturnType<typeof startNodeProxy>>
let block: Block

/** A reader that has sent no request yet, and its node. */
const openReader = async (options: { readonly maxBytes?: number } = {}) => {
  const log = pino({ level: 'silent' })
  const registry = createEndpointRegistry({ chainId: 8453, urls: [proxy.url], timeoutMs: 15_000, log })
  closers.add('registry', registry, (it) => it.close())
  const node = createNode({ registry, chainId: 8453, timeoutMs: 15_000 })
  await node.send({ head: getBlock('latest') })
  proxy.calls()
  proxy.requests()
  return { node, ...createReader({ node, diamond, maxEntries: 10_000, maxBytes: 2 ** 20, ...options }) }
}

/** The outcome of one call that is sent alone, without the reader. */
const askedAlone = async (view: Call): Promise<Outcome<unknown>> => {
  const { node } = await openReader()
  const { outcome } = await node.send({ outcome: viewCall(diamond, view, { blockHash: block.hash }) })
  return outcome
}

const summary = (outcome: Outcome<unknown>): unknown =>
  outcome.ok ? outcome.value : { message: outcome.error.message, data: outcome.error.data }

const event = (id: number): Call => call('getHedgeEventCore', [BigInt(id)])
const stats = (id: number): Call => call('getHedgeEventStats', [BigInt(id)])
const ids = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)

beforeAll(async () => {
  proxy = await startNodeProxy(protocol.url)
  for (let made = 0; made < 3; made += 1) await protocol.send(protocol.creator, 'createEvent', [protocol.newEvent()])
  const { node } = await openReader()
  const { head } = await node.send({ head: getBlock('latest') })
  if (!head.ok || head.value === null) throw new Error('the node has no block')
  block = head.value
})
afterEach(() => proxy.honest())
afterAll(async () => {
  await closers.close()
  await proxy.close()
})

const missing = { name: 'isPaused', data: '0xdeadbeef', decode: (bytes: Hex) => bytes } as const

const views = [event(1), event(99), stats(2), missing, call('isPaused'), call('getOracles')]

test('merged calls have the same outcomes as single ones: values, revert reasons and missing functions', async () => {
  const reader = await openReader()
  const outcomes = await reader.readAt(block, views)
  expect(proxy.calls().filter((method) => method === 'eth_call').length).toBeLessThanOrEqual(2)
  expect(outcomes.map(summary)).toEqual((await Promise.all(views.map(askedAlone))).map(summary))
  expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, true, false, true, true])
})

test('a thousand concurrent readers of different events need fewer than 50 calls and 10 requests', async () => {
  const reader = await openReader()
  const outcomes = await Promise.all(
    ids(1_000).map(async (id) => {
      const [outcome] = await reader.readAt(block, [call('getHedgeEventCore', [BigInt(id)])])
      return outcome.ok && outcome.value.creator !== zeroAddress
    }),
  )
  expect(outcomes.filter((exists) => exists)).toHaveLength(3)
  expect(proxy.calls().length).toBeLessThan(50)
  expect(proxy.requests()).toBeLessThan(10)
})

test('ten thousand readers of one event share one call', async () => {
  const reader = await openReader()
  const outcomes = await Promise.all(ids(10_000).map(() => reader.readAt(block, [stats(1)])))
  expect(outcomes.every(([outcome]) => outcome.ok)).toBe(true)
  await reader.readAt(block, [stats(1)])
  expect(proxy.calls()).toEqual(['eth_call'])
})

test('the outcome that a function does not exist is cached too', async () => {
  const reader = await openReader()
  for (let times = 0; times < 3; times += 1) {
    const [outcome] = await reader.readAt(block, [missing])
    expect(outcome.ok).toBe(false)
  }
  expect(proxy.calls()).toEqual(['eth_call'])
})

test('a fault is not cached, and the next reader asks again', async () => {
  const reader = await openReader()
  proxy.refuse(() => ({ code: -32_000, message: 'header not found' }))
  const failing = Promise.all(ids(5).map((id) => reader.readAt(block, [event(id)])))
  await expect(failing).rejects.toMatchObject({ code: 'service_unavailable' })
  proxy.honest()
  const [outcome] = await reader.readAt(block, [event(1)])
  expect(outcome.ok).toBe(true)
})

test('the cache is bounded in bytes, and an evicted outcome is requested again', async () => {
  const reader = await openReader({ maxBytes: 3_000 })
  const read = async (id: number): Promise<string[]> => {
    await reader.readAt(block, [event(id)])
    return proxy.calls()
  }
  expect(await read(1)).toEqual(['eth_call'])
  expect(await read(1)).toEqual([])
  await read(2)
  await read(3)
  expect(await read(1)).toEqual(['eth_call'])
})

test('storage slots are read in the same request as the merged calls', async () => {
  const reader = await openReader()
  await reader.readAt(block, [event(1), event(2)])
  proxy.calls()
  proxy.requests()
  const [owner, first, second] = await reader.readAt(block, [ownerSlot, stats(1), stats(2)])
  expect(owner.ok && owner.value).toBe(protocol.owner)
  expect([first.ok, second.ok]).toEqual([true, true])
  expect(proxy.calls().toSorted()).toEqual(['eth_call', 'eth_getStorageAt'])
  expect(proxy.requests()).toBe(1)
})

test('a node that runs out of gas for a large merged call gets smaller ones from then on', async () => {
  const reader = await openReader()
  const sizes: number[] = []
  proxy.refuse((method, params) => {
    const size = JSON.stringify(params).length
    if (method !== 'eth_call') return undefined
    sizes.push(size)
    return size > 20_000 ? { code: -32_000, message: 'out of gas' } : undefined
  })
  const read = async (from: number): Promise<number> => {
    sizes.length = 0
    const outcomes = await reader.readAt(
      block,
      ids(200).map((id) => event(from + id)),
    )
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    return sizes.filter((size) => size > 20_000).length
  }
  expect(await read(1_000)).toBeGreaterThan(0)
  expect(await read(2_000)).toBe(0)
  expect(sizes.length).toBeLessThan(40)
})

test('a node that cannot run merged calls gets single ones', async () => {
  const reader = await openReader()
  proxy.refuse(oneByOne)
  const outcomes = await reader.readAt(block, [event(1), event(2), event(3)])
  expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, true])
})

/** Returns 1 for any call, and uses up all gas of a call whose first byte is 0xff. */
const GAS_BURNER = '0x60003560f81c60ff14601657600160005260206000f35b601656'

test('a view that uses up the gas of a merged call does not fail the others, which are sent again alone', async () => {
  await protocol.client.setCode({ address: diamond, bytecode: GAS_BURNER })
  await protocol.client.mine({ blocks: 1 })
  const { number, hash, timestamp } = await protocol.client.getBlock()
  const after = { number, hash, timestamp }
  const view = (data: Hex): Call => ({ name: 'isPaused', data, decode: (bytes) => bytes })
  const reader = await openReader()
  const [first, greedy, last] = await Promise.allSettled(
    (['0x01000001', '0xff000002', '0x01000003'] as const).map((data) => reader.readAt(after, [view(data)])),
  )
  expect([first?.status, greedy?.status, last?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('merged calls use Multicall3 if the chain has it, and otherwise send the code with the call', async () => {
  const targets: unknown[] = []
  proxy.alter((method, result, [transaction]) => {
    if (method === 'eth_call') targets.push(Object(transaction).to)
    return result
  })
  const read = async (at: Pick<Block, 'hash'>): Promise<unknown[]> => {
    const reader = await openReader()
    targets.length = 0
    const outcomes = await reader.readAt(at, [event(1), event(2), event(3)])
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    return [...targets]
  }
  // The first call finds that the chain has no Multicall3.
  expect(await read(block)).toEqual([MULTICALL3, undefined])

  const { client, owner } = protocol
  const deployment = await client.sendTransaction({ account: owner, data: aggregateBytecode, chain: null })
  const { contractAddress } = await receiptOf(client, deployment)
  if (!contractAddress) throw new Error('the contract was not deployed')
  const bytecode = await client.getCode({ address: contractAddress })
  if (bytecode === undefined) throw new Error('the deployed contract has no code')
  await client.setCode({ address: MULTICALL3, bytecode })
  await client.mine({ blocks: 1 })
  expect(await read(await client.getBlock())).toEqual([MULTICALL3])
})

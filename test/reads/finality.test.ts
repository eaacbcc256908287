import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { type Batch, flatten } from '../../src/chain/rpc/batch.ts'
import { NodeError } from '../../src/chain/rpc/errors.ts'
import type { Request } from '../../src/chain/rpc/requests.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createFinality } from '../../src/reads/freshness/finality.ts'

/** The time of the newest final block; null while no node reports one, undefined while no node is in reach. */
let final: bigint | null | undefined
let requests = 0

/** An error that the node gives in place of a block. */
let refusal: NodeError | null = null
const tags: unknown[] = []

const chain: Pick<Chain, 'send'> = {
  send: async <T>(batch: Batch) => {
    requests += 1
    tags.push(...flatten<Request<unknown>>(batch).map(({ params }) => params[0]))
    if (refusal !== null) return { outcome: { ok: false, error: refusal } } as T
    if (final === undefined) throw unavailable('no node is in reach')
    const block = final === null ? null : { number: final / 2n, hash: `0x${'5f'.repeat(32)}`, timestamp: final }
    return { outcome: { ok: true, value: block } } as T
  },
}
const open = () => createFinality(new Map([[8453, chain as Chain]]))

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  final = 1_000n
  requests = 0
  refusal = null
  tags.length = 0
})
afterEach(() => {
  vi.useRealTimers()
})

test('the final block is read once for finalBlock and isFinal, and again after a second', async () => {
  const { finalBlock, isFinal } = open()
  const [block] = await Promise.all([finalBlock(8453, 'finalized'), isFinal(8453, 999)])
  expect(block).toMatchObject({ number: 500n, timestamp: 1_000n })
  expect(requests).toBe(1)
  vi.advanceTimersByTime(1_001)
  final = 1_010n
  expect(await finalBlock(8453, 'finalized')).toMatchObject({ timestamp: 1_010n })
  expect([await isFinal(8453, 1_009), await isFinal(8453, 1_010)]).toEqual([true, false])
  expect(requests).toBe(2)
})

test('a block is final as long as an answer of the last ten seconds shows it', async () => {
  const { isFinal } = open()
  expect([await isFinal(8453, 999), await isFinal(8453, 1_000), await isFinal(8453, 0)]).toEqual([true, false, false])
  vi.advanceTimersByTime(9_999)
  final = 1_010n
  expect(await isFinal(8453, 1_009)).toBe(false)
  vi.advanceTimersByTime(2)
  expect(await isFinal(8453, 1_009)).toBe(true)
  expect(requests).toBe(2)
})

test('blocks stay final while no node is in reach, and reading the final block is an error', async () => {
  const { finalBlock, isFinal } = open()
  expect(await isFinal(8453, 999)).toBe(true)
  vi.advanceTimersByTime(10_001)
  final = undefined
  expect(await isFinal(8453, 999)).toBe(true)
  await expect(finalBlock(8453, 'finalized')).rejects.toThrow('no node is in reach')
})

test('nothing is final before a node reports a final block, and the next request reads it again', async () => {
  const { finalBlock, isFinal } = open()
  final = null
  expect(await isFinal(8453, 1)).toBe(false)
  await expect(finalBlock(8453, 'finalized')).rejects.toThrow('chain 8453 has no finalized block yet')
  final = 1_000n
  expect(await finalBlock(8453, 'finalized')).toMatchObject({ timestamp: 1_000n })
})

test('the latest block needs no request, and a chain that is not configured is an error', async () => {
  const { finalBlock } = open()
  expect(await finalBlock(8453, 'latest')).toBeNull()
  expect(requests).toBe(0)
  await expect(finalBlock(56, 'safe')).rejects.toThrow('chain 56 is not configured')
})

test.each([
  [0, 1],
  [1_000, 1],
  [1_001, 2],
])('a block of %i ms ago is read %i times', async (ms, times) => {
  const { finalBlock } = open()
  await finalBlock(8453, 'safe')
  vi.advanceTimersByTime(ms)
  await finalBlock(8453, 'safe')
  expect(requests).toBe(times)
})

test.each([
  [10_000, 1],
  [10_001, 2],
])('an answer of %i ms ago shows what is final after %i requests', async (ms, times) => {
  const { isFinal } = open()
  await isFinal(8453, 999)
  vi.advanceTimersByTime(ms)
  await isFinal(8453, 999)
  expect(requests).toBe(times)
})

test('safe and finalized blocks are read separately, and each chain for itself', async () => {
  const { finalBlock } = createFinality(
    new Map([
      [8453, chain as Chain],
      [56, chain as Chain],
    ]),
  )
  await finalBlock(8453, 'safe')
  final = 900n
  expect(await finalBlock(8453, 'finalized')).toMatchObject({ timestamp: 900n })
  final = 800n
  expect(await finalBlock(56, 'finalized')).toMatchObject({ timestamp: 800n })
  expect(tags).toEqual(['safe', 'finalized', 'finalized'])
})

test('a refusal of the node is an error each time, after which the last known block still shows what is final', async () => {
  const { finalBlock, isFinal } = open()
  await finalBlock(8453, 'finalized')
  vi.advanceTimersByTime(1_001)
  refusal = new NodeError({ code: -32_000, message: 'tag not supported' })
  for (const _ of [1, 2])
    await expect(finalBlock(8453, 'finalized')).rejects.toMatchObject({
      code: 'upstream_error',
      message: 'tag not supported',
    })
  expect(requests).toBe(3)
  expect([await isFinal(8453, 999), await isFinal(8453, 1_000)]).toEqual([true, false])
  // The age of the answer begins with the request.
  vi.advanceTimersByTime(10_000)
  await isFinal(8453, 999)
  expect(requests).toBe(3)
})

test('the age of an answer begins when its request does', async () => {
  const slow: Pick<Chain, 'send'> = {
    async send<const B extends Batch>(batch: B) {
      vi.advanceTimersByTime(600)
      return chain.send(batch)
    },
  }
  const { finalBlock } = createFinality(new Map([[8453, slow as Chain]]))
  await finalBlock(8453, 'safe')
  vi.advanceTimersByTime(401)
  await finalBlock(8453, 'safe')
  expect(requests).toBe(2)
})

test('an error that is not about the nodes is not hidden', async () => {
  const broken: Pick<Chain, 'send'> = { send: () => Promise.reject(new TypeError('not expected')) }
  const { isFinal } = createFinality(new Map([[8453, broken as Chain]]))
  await expect(isFinal(8453, 5)).rejects.toThrow('not expected')
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Chain } from '../../src/chain/chain.ts'
import { unavailable } from '../../src/lib/errors.ts'
import { createFinality } from '../../src/reads/freshness/finality.ts'

/** The time of the newest final block; null while no node reports one, undefined while no node is in reach. */
let final: bigint | null | undefined
let requests = 0

const chain: Pick<Chain, 'send'> = {
  send: async <T>() => {
    requests += 1
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

import { afterEach, expect, test, vi } from 'vitest'
import type { Reached } from '../../src/db/changes/changes.ts'
import type { Tip } from '../../src/db/queries/tips.ts'
import { unavailable } from '../../src/lib/errors.ts'
import type { ChainId } from '../../src/protocol/chains.ts'
import {
  blockFields,
  freshnessHeaders,
  indexedBlock,
  indexFreshness,
  isStale,
  laggingIndex,
  refreshingOf,
} from '../../src/reads/freshness/freshness.ts'
import { blockAt, hashAt } from '../support/fake-chain.ts'

afterEach(() => {
  vi.useRealTimers()
})

const block = blockAt(7)

test.each([
  [
    { source: 'database', block, stale: true, lagSeconds: 0 } as const,
    {
      'x-data-source': 'database',
      'x-block-number': '7',
      'x-block-hash': hashAt(7),
      'x-block-timestamp': '1000007',
      'x-index-lag': '0',
      'x-stale': '1',
    },
  ],
  [{ source: 'static', stale: false } as const, { 'x-data-source': 'static' }],
])('the headers of an answer', (freshness, headers) => {
  expect(freshnessHeaders(freshness)).toEqual(headers)
})

test.each([
  ['one chain', [block], [3], { block, lagSeconds: 3 }],
  ['several chains', [block, blockAt(8)], [3, 9, 5], { lagSeconds: 9 }],
  ['a chain without a known lag', [block, blockAt(8)], [3, null], {}],
])('the freshness of an index of %s', (_, blocks, lags, expected) => {
  expect(indexFreshness(blocks, lags, false)).toEqual({ source: 'database', stale: false, ...expected })
})

test('the fields of a block', () => {
  expect(blockFields(block)).toEqual({ blockNumber: 7, blockHash: hashAt(7), blockTimestamp: 1_000_007 })
})

test.each([
  [60, false],
  [61, true],
  [0, false],
  [null, true],
])('an index with a lag of %s s and a limit of 60 s is stale: %s', (lag, stale) => {
  expect(isStale(lag, 60)).toBe(stale)
})

test('the chains that miss observations are those whose tips are refreshing', () => {
  const tip = (chainId: ChainId, isRefreshing: boolean): Tip => ({
    ...{ chainId, isRefreshing, block, head: null, rollback: 0n, reorged: !isRefreshing },
  })
  expect(refreshingOf([tip(8453, false), tip(56, true)])).toEqual([56])
})

test('the error of an index that lags names the chain and the lag', () => {
  expect(laggingIndex(56, 61)).toMatchObject({
    code: 'service_unavailable',
    message: 'the index of chain 56 is 61 s behind',
  })
})

const heartbeat = { head: blockAt(97), stored: null, isQuiet: false, ageSeconds: 1, byLogs: true }

/** The indexed block and lag of an index at block 90, whose nodes are at block 100. */
const read = (seen: Reached['heartbeat'], head: () => Promise<typeof block> = async () => blockAt(100)) => {
  const queries = { reached: async (chainId: ChainId) => ({ chainId, block: blockAt(90), heartbeat: seen }) }
  return indexedBlock({ chains: new Map([[8453, { head }]]), queries }, 8453)
}

test('an index lags behind the nodes, without the blocks that have no log of the protocol', async () => {
  for (const seen of [null, heartbeat]) expect(await read(seen)).toEqual({ block: blockAt(90), lagSeconds: 10 })
  expect(await read({ ...heartbeat, isQuiet: true })).toEqual({ block: blockAt(90), lagSeconds: 3 })
  expect(await read({ ...heartbeat, isQuiet: true, head: blockAt(101) })).toMatchObject({ lagSeconds: 0 })
})

test('an index lags behind the clock while no node is in reach', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_099_999 })
  const none = () => Promise.reject(unavailable('no node answers'))
  expect(await read(heartbeat, none)).toEqual({ block: blockAt(90), lagSeconds: 9 })
})

test('an index without a block is an error, and so is one that is not about the nodes', async () => {
  const queries = { reached: async () => null }
  await expect(indexedBlock({ chains: new Map(), queries }, 8453)).rejects.toThrow('chain 8453 is not indexed yet')
  const broken = () => Promise.reject(new TypeError('not expected'))
  await expect(read(heartbeat, broken)).rejects.toThrow('not expected')
})

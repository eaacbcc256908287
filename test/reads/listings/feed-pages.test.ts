import { numberToHex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { FeedPage } from '../../../src/db/queries/feed.ts'
import type { FeedSettlement } from '../../../src/db/queries/settlements.ts'
import { ServiceError, unavailable } from '../../../src/lib/errors.ts'
import {
  type ChangesSources,
  change,
  changesPage,
  cursorOf,
  cursorText,
  subjectsOf,
  filterOf as typesOf,
} from '../../../src/reads/feeds/changes.ts'
import { asOfChain } from '../../../src/reads/feeds/meta.ts'
import {
  feedOf,
  filterOf,
  resumeAt,
  type SettlementSources,
  settlement,
  settlementsPage,
  startOf,
} from '../../../src/reads/feeds/settlements.ts'
import { blockOf, walletOf } from '../../support/seed-index.ts'

/* Pages of settlements and of changes over fake queries, which see what is read and in which order. */

const hash = numberToHex(5, { size: 32 })

const stored = (seq: number, own: Partial<FeedSettlement> = {}): FeedSettlement => ({
  ...{ seq, type: 'settled', chainId: 8453, eventId: 7n, settledAt: 9n, triggered: true, settlementPrice: 10n ** 20n },
  ...{ blockNumber: 4n, blockHash: hash, txHash: null, finalizedSeq: null },
  ...own,
})

type Options = {
  readonly isCurrent?: boolean
  readonly position?: number
  readonly newest?: number
  readonly future?: boolean
  readonly settlements?: readonly FeedSettlement[]
  readonly feed?: FeedPage
  /** The indexed blocks by chain; a chain without one is not indexed. */
  readonly indexed?: Readonly<Record<number, bigint>>
}

const emptyPage: FeedPage = { items: [], resets: [], next: { epoch: 'ab', seq: 9 }, hasMore: false }

/** Sources of both feeds, and the calls that they received in their order. */
const sourcesWith = (options: Options = {}) => {
  const { isCurrent = true, position = 100, newest = 200, future = false, indexed = { 8453: 50n, 56: 60n } } = options
  const calls: unknown[][] = []
  const called = <T>(name: string, result: T, ...args: unknown[]): T => {
    calls.push([name, ...args])
    return result
  }
  const progressOf = (chainId: number, lag: bigint) => {
    const number = indexed[chainId]
    if (number === undefined) return null
    const block = blockOf(number)
    const head = { number: number + 3n, timestamp: block.timestamp + lag }
    return { chainId, block, heartbeat: { head, stored: null, isQuiet: false, ageSeconds: 1, byLogs: true } }
  }
  const sources = {
    chains: new Map(
      [8453, 56].map((chainId) => [chainId, { head: async () => progressOf(chainId, 13n)?.heartbeat.head }]),
    ),
    changes: {
      isCurrent: (chainIds: readonly number[]) => called('isCurrent', isCurrent, ...chainIds),
      position: () => position,
      reached: (chainId: number) => progressOf(chainId, 6n) ?? undefined,
    },
    queries: {
      reached: async (chainId: number) => called('reached', progressOf(chainId, 13n), chainId),
    },
    settlements: {
      after: async (...args: unknown[]) => called('after', options.settlements ?? [], ...args),
      position: async () => called('position', newest),
      isFuture: async (seq: number) => called('isFuture', future, seq),
    },
    feed: { page: async (...args: unknown[]) => called('page', options.feed ?? emptyPage, ...args) },
  } as unknown as SettlementSources & ChangesSources
  return { sources, calls, called: (name: string) => calls.filter(([it]) => it === name).map(([, ...args]) => args) }
}

const refusalOf = async (make: () => unknown): Promise<unknown[]> => {
  try {
    await make()
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.details?.[0]?.path]
    throw error
  }
  throw new Error('expected a refusal')
}

describe('a page of settlements', () => {
  test.each([
    [0, 2, [], false, '77'],
    [1, 2, [1], false, '1'],
    [2, 2, [1, 2], false, '2'],
    [3, 2, [1, 2], true, '2'],
  ])('of %i found with a limit of %i', async (found, limit, seqs, hasMore, nextCursor) => {
    const settlements = [1, 2, 3].slice(0, found).map((seq) => stored(seq))
    const { sources, called } = sourcesWith({ settlements })
    const { data, meta } = await settlementsPage(sources, { since: 77, limit })
    expect(data.map(({ seq }) => seq)).toEqual(seqs)
    expect(meta).toMatchObject({ hasMore, nextCursor, pollAfterMs: hasMore ? 0 : 1_000 })
    expect(called('after')).toEqual([
      [77, expect.objectContaining({ chainIds: [8453, 56], isFinal: false }), limit + 1],
    ])
  })

  test('reads the blocks that it is as of before the settlements', async () => {
    const { sources, calls } = sourcesWith({ isCurrent: false })
    const { meta } = await settlementsPage(sources, { chainId: 56, limit: 2 })
    expect(calls.map(([name]) => name)).toEqual(['isCurrent', 'reached', 'after'])
    expect(meta.asOf).toMatchObject([{ chainId: 56, blockNumber: 60, lagSeconds: 13 }])
    expect(meta.nextCursor).toBe('0')
  })

  test('is refused where a chain is not indexed, before settlements are read', async () => {
    const { sources, called } = sourcesWith({ indexed: { 8453: 1n } })
    expect(await refusalOf(() => settlementsPage(sources, { limit: 2 }))).toEqual(['service_unavailable', undefined])
    expect(called('after')).toEqual([])
  })

  test('filters by what the request names', async () => {
    expect(filterOf({ chainId: 56, eventIds: [0n, 2n], triggered: false, wallet: [walletOf(1)], limit: 2 })).toEqual({
      ...{ chainIds: [56], eventIds: [0n, 2n], triggered: false, wallets: [walletOf(1)], isFinal: false },
    })
    expect(filterOf({ finality: 'finalized' })).toMatchObject({ chainIds: [8453, 56], isFinal: true })
    expect(filterOf({ finality: 'latest' }).isFinal).toBe(false)
    expect(await refusalOf(() => filterOf({ eventIds: [1n] }))).toEqual(['validation_error', 'chainId'])
  })

  test('begins at the newest number that this process knows, or that the database has', async () => {
    const known = sourcesWith()
    expect(await startOf(known.sources, 'now')).toBe(100)
    expect(known.called('position')).toEqual([])
    const unknown = sourcesWith({ isCurrent: false })
    expect(await startOf(unknown.sources, 'now')).toBe(200)
    expect(unknown.called('position')).toHaveLength(1)
    expect(await startOf(known.sources, undefined)).toBe(0)
  })

  test.each([
    [100, false, 0],
    [101, false, 1],
  ])(
    'begins at %i, which the database is asked about only if it is new to this process',
    async (since, future, asked) => {
      const { sources, called } = sourcesWith({ future })
      expect(await startOf(sources, since)).toBe(since)
      expect(called('isFuture')).toHaveLength(asked)
    },
  )

  test('is refused after a number of the future, by the name of its place', async () => {
    const { sources } = sourcesWith({ future: true })
    expect(await startOf(sources, 100)).toBe(100)
    expect(await refusalOf(() => startOf(sources, 101))).toEqual(['validation_error', 'since'])
    expect(await refusalOf(() => startOf(sources, 101, 'Last-Event-ID'))).toEqual(['validation_error', 'Last-Event-ID'])
  })

  test('shows each settlement with its type, in the feed of final ones by their finality', () => {
    expect(settlement(stored(1, { txHash: hash, finalizedSeq: 5 }))).toEqual({
      ...{ seq: 1, type: 'settled', chainId: 8453, eventId: 7, settledAt: 9, triggered: true },
      ...{ settlementPrice: '100000000000000000000', blockNumber: 4, blockHash: hash, transactionHash: hash },
    })
    expect(settlement(stored(1, { isFinal: true })).type).toBe('finalized')
    expect(settlement(stored(1, { isFinal: true, type: 'reverted' })).type).toBe('reverted')
    expect(settlement(stored(1, { type: 'reverted' })).type).toBe('reverted')
  })

  test.each(['', '-1', 'x', '1.0', '12345678901234567', '9007199254740992'])(
    'does not resume after %j',
    async (text) => {
      expect(await refusalOf(() => resumeAt(text))).toEqual(['validation_error', 'Last-Event-ID'])
    },
  )

  test('resumes after the greatest number', () => {
    expect(resumeAt('9007199254740991')).toBe(9_007_199_254_740_991)
    expect(resumeAt('0')).toBe(0)
  })

  test('depends on the settlements of its chains and on the wallets', () => {
    const { chainIds, keys } = feedOf([8453, 56], [walletOf(1), walletOf(2)])
    expect(chainIds).toEqual([8453, 56])
    for (const chainId of [8453, 56])
      for (const wallet of [1, 2].map(walletOf)) expect(keys).toContain(`${chainId} wallet:${wallet.toLowerCase()}`)
    expect(keys.filter((key) => !key.includes('wallet:'))).toHaveLength(4)
    expect(feedOf([56]).keys).toHaveLength(2)
  })
})

describe('the block that a page is as of', () => {
  test('is that which this process knows while it knows all of the chain, with the lag of its heartbeat', async () => {
    const { sources, calls } = sourcesWith()
    expect(await asOfChain(sources, 56)).toEqual({
      ...{ chainId: 56, blockNumber: 60, blockHash: blockOf(60n).hash, blockTimestamp: Number(blockOf(60n).timestamp) },
      lagSeconds: 6,
    })
    expect(calls).toEqual([['isCurrent', 56]])
  })

  test('is read from the database otherwise', async () => {
    for (const options of [{ isCurrent: false }, { indexed: { 8453: 1n } }]) {
      const { sources, called } = sourcesWith(options)
      const found = await asOfChain(sources, 56).catch((error: Error) => error.message)
      if ('indexed' in options) expect(found).toBe('chain 56 is not indexed yet')
      else expect(found).toMatchObject({ chainId: 56, lagSeconds: 13 })
      expect(called('reached')).toEqual([[56]])
    }
  })
})

describe('a page of changes', () => {
  const item = {
    seq: 3,
    chainId: 56,
    type: 'event',
    key: '7',
    changed: ['events'],
    blockNumber: 9n,
    blockHash: hash,
  } as const
  const filter = { chainIds: [8453, 56], types: ['event'] } as const

  test('has the items, the resets and the next cursor of the feed', async () => {
    const feed: FeedPage = {
      ...{ items: [item], next: { epoch: 'ab', seq: 9 }, hasMore: true },
      resets: [{ seq: 4, chainId: 56, reason: 'rebuilt' }],
    }
    const { sources, called } = sourcesWith({ feed })
    const { data, meta } = await changesPage(sources, { epoch: 'a', seq: 1 }, filter, 7)
    expect(data).toEqual([
      { seq: 3, chainId: 56, type: 'event', eventId: 7, changed: ['events'], blockNumber: 9, blockHash: hash },
    ])
    expect(meta).toMatchObject({
      ...{ nextCursor: 'ab.9', hasMore: true, pollAfterMs: 0, reset: true },
      resets: [{ chainId: 56, reason: 'rebuilt' }],
    })
    expect(meta.asOf.map(({ chainId }) => chainId)).toEqual([8453, 56])
    expect(called('page')).toEqual([[{ epoch: 'a', seq: 1 }, filter, 7, 100]])
  })

  test('without an item has the time of the next poll, and that nothing was reset', async () => {
    const { sources, called } = sourcesWith()
    const { meta } = await changesPage(sources, undefined, filter, 7)
    expect(meta).toMatchObject({ hasMore: false, pollAfterMs: 1_000, reset: false, resets: [] })
    expect(called('page')).toEqual([[null, filter, 7, 100]])
  })

  test('is no reset for another page alone', async () => {
    const { sources } = sourcesWith({ feed: { ...emptyPage, items: [item], hasMore: true } })
    expect((await changesPage(sources, 'now', filter, 7)).meta).toMatchObject({ hasMore: true, reset: false })
  })

  test('has every change while this process serves no cached answers', async () => {
    const { sources, calls, called } = sourcesWith({ isCurrent: false })
    await changesPage(sources, 'now', filter, 7)
    expect(called('page')).toEqual([['now', filter, 7, Number.MAX_SAFE_INTEGER]])
    // The blocks are read before the changes.
    const names = calls.map(([name]) => name)
    expect(names.lastIndexOf('indexed')).toBeLessThan(names.indexOf('page'))
  })

  test('leaves out chains that are not indexed', async () => {
    const { sources } = sourcesWith({ indexed: { 56: 3n } })
    expect((await changesPage(sources, 'now', filter, 7)).meta.asOf.map(({ chainId }) => chainId)).toEqual([56])
  })

  test('fails as the database does', async () => {
    const { sources } = sourcesWith()
    const failing = { ...sources, feed: { page: () => Promise.reject(unavailable('out of reach')) } }
    await expect(changesPage(failing, 'now', filter, 7)).rejects.toThrow('out of reach')
  })

  test('shows a wallet with its checksum, an event with its id, and the protocol without either', () => {
    const wallet = walletOf(1)
    expect(change({ ...item, type: 'wallet', key: wallet.toLowerCase() })).toMatchObject({ type: 'wallet', wallet })
    const protocol = change({ ...item, type: 'protocol', key: '', changed: [] })
    expect(Object.keys(protocol).toSorted()).toEqual(['blockHash', 'blockNumber', 'chainId', 'changed', 'seq', 'type'])
  })

  test('is of the types, the wallets or the events of the request', async () => {
    const limit = 100
    expect(typesOf({})).toEqual({ chainIds: [8453, 56], types: ['wallet', 'event', 'protocol'] })
    expect(typesOf({ chainId: 56, types: ['event', 'event', 'wallet'] })).toEqual({
      ...{ chainIds: [56], types: ['event', 'wallet'] },
    })
    expect(subjectsOf({ wallets: [walletOf(1), walletOf(2)], limit })).toEqual({
      ...{ chainIds: [8453, 56], types: ['wallet'], keys: [walletOf(1), walletOf(2)].map((it) => it.toLowerCase()) },
    })
    expect(subjectsOf({ chainId: 56, eventIds: [0, 7], limit })).toEqual({
      ...{ chainIds: [56], types: ['event'], keys: ['0', '7'] },
    })
    expect(await refusalOf(() => subjectsOf({ limit }))).toEqual(['validation_error', 'wallets'])
    expect(await refusalOf(() => subjectsOf({ eventIds: [1], limit }))).toEqual(['validation_error', 'chainId'])
    expect(await refusalOf(() => subjectsOf({ chainId: 56, eventIds: [1], wallets: [walletOf(1)], limit }))).toEqual([
      ...['validation_error', 'eventIds'],
    ])
  })

  test('resumes after the id of an event, which is the text of a cursor', async () => {
    for (const cursor of [
      { epoch: '', seq: 0 },
      { epoch: '0123456789ab', seq: 9_007_199_254_740_991 },
    ])
      expect(cursorOf(cursorText(cursor))).toEqual(cursor)
    for (const text of ['', '7', 'now', 'ab.', 'AB.1', '0123456789abc.1', 'ab.9007199254740992', 'ab.1x', ' ab.1'])
      expect([text, ...(await refusalOf(() => cursorOf(text)))]).toEqual([text, 'validation_error', 'Last-Event-ID'])
  })
})

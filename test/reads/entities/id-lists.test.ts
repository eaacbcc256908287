import { describe, expect, test } from 'vitest'
import type { Page } from '../../../src/db/queries/entities.ts'
import { invalidField, ServiceError, unavailable } from '../../../src/lib/errors.ts'
import { idList } from '../../../src/reads/entities/id-list.ts'
import { eventPositions, walletDeposits } from '../../../src/reads/entities/view-sets.ts'
import type { Freshness } from '../../../src/reads/freshness/freshness.ts'
import { chainOf, type PageMeta, type ReadSources, withFallback } from '../../../src/reads/read.ts'
import { blockOf, seedDeployment, walletOf } from '../../support/seed-index.ts'

/* Lists of ids over a fake index and a fake chain, each of which may be out of reach. */

const creator = walletOf(1)
const chainBlock = blockOf(70n)

type Options = {
  /** The ids of the index, ascending; null when it is out of reach. */
  readonly index?: readonly bigint[] | null
  /** The ids of the chain, in any order; null when no node answers. */
  readonly chain?: readonly bigint[] | null
  /** Whether the index and the chain know the event. */
  readonly known?: boolean
  readonly exists?: boolean
  /** How far the index is behind the chain, in seconds. */
  readonly lag?: bigint
}

const sourcesWith = ({ index = [], chain = [], known = true, exists = true, lag = 0n }: Options) => {
  const pages: unknown[][] = []
  const calls: string[] = []
  const indexBlock = blockOf(60n)
  const read = async (...args: [number, unknown, Page]): Promise<bigint[]> => {
    pages.push(args)
    if (index === null) throw unavailable('the database is out of reach')
    const [, , { after, limit }] = args
    return index.filter((id) => after === null || id > after).slice(0, limit)
  }
  const sources = {
    maxLagSeconds: 60,
    queries: {
      reached: async (chainId: number) => {
        if (index === null) throw unavailable('the database is out of reach')
        return { chainId, block: indexBlock, heartbeat: null }
      },
      event: async () => (known ? {} : null),
      idsByEvent: { position: read },
      idsByOwner: { deposit: read },
    },
    chains: new Map([
      [
        8453,
        {
          deployment: seedDeployment(8453),
          head: async () => ({ timestamp: indexBlock.timestamp + lag }),
          pinned: async (run: (block: typeof chainBlock) => unknown) => {
            if (chain === null) throw unavailable('no node is in reach')
            return run(chainBlock)
          },
          readAt: async (_: unknown, views: readonly { readonly name: string }[]) =>
            views.map(({ name }) => {
              calls.push(name)
              if (name === 'getHedgeEventCore')
                return { ok: true, value: { creator: exists ? creator : `0x${'0'.repeat(40)}` } }
              return { ok: true, value: chain }
            }),
        },
      ],
    ]),
  } as unknown as ReadSources
  return { sources, pages, calls }
}

const ofEvent = idList('/hedge/events/:chainId/:id/positions', 'Positions', eventPositions)
const ofWallet = idList('/hedge/deposits/:chainId/wallet/:addr', 'Deposits', walletDeposits)

type Found = {
  readonly freshness: Freshness
  readonly data: number[]
  readonly meta?: PageMeta
  readonly missing?: string
}

const read = async (options: Options, query: object = {}) => {
  const fake = sourcesWith(options)
  const answer = await ofEvent.answer(fake.sources, { chainId: 8453, id: 7, ...query } as never)
  return { ...fake, answer: answer as Found }
}

const upTo = (count: number): bigint[] => Array.from({ length: count }, (_, at) => BigInt(at + 1))

const refusalOf = async (reading: Promise<unknown>): Promise<unknown[]> => {
  const error = await reading.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ServiceError)) throw new Error(`expected a refusal, got ${error}`)
  return [error.code, error.details?.[0]?.path ?? error.message]
}

describe.each(['index', 'chain'] as const)('pages of the %s', (source) => {
  const from = (ids: readonly bigint[]): Options =>
    source === 'index' ? { index: ids, chain: null } : { index: null, chain: ids.toReversed() }

  test.each([1, 2, 3, 4, 5, 6])('of %i ids have each id once, in ascending order', async (limit) => {
    const ids = [1n, 2n, 9n, 10n, 100n]
    const seen: number[] = []
    let pages = 0
    let cursor: string | null | undefined
    do {
      const { answer } = await read(from(ids), { limit, ...(cursor && { cursor }) })
      if ('missing' in answer) throw new Error(answer.missing)
      expect(answer.meta).toMatchObject({ limit, hasMore: answer.meta?.nextCursor !== null })
      expect(answer.data.length).toBeLessThanOrEqual(limit)
      seen.push(...answer.data)
      expect(seen.length).toBeLessThanOrEqual(ids.length)
      pages += 1
      cursor = answer.meta?.nextCursor
    } while (cursor)
    expect(seen).toEqual(ids.map(Number))
    expect(pages).toBe(Math.ceil(ids.length / limit))
  })

  test.each([
    [10_000, false],
    [10_001, true],
  ])('a whole list of %i ids continues on another page: %s', async (count, hasMore) => {
    const { answer } = await read(from(upTo(count)))
    if ('missing' in answer) throw new Error(answer.missing)
    expect(answer.data).toHaveLength(10_000)
    // A list that is returned as a whole has no pagination.
    if (hasMore) expect(answer.meta).toMatchObject({ limit: 10_000, hasMore: true, nextCursor: expect.any(String) })
    else expect(answer).not.toHaveProperty('meta')
  })

  test('have pagination where the request has a limit or a cursor', async () => {
    const { answer } = await read(from([1n, 2n]), { limit: 1 })
    const cursor = answer.meta?.nextCursor
    expect((await read(from([1n, 2n]), { limit: 2 })).answer.meta).toEqual({
      limit: 2,
      hasMore: false,
      nextCursor: null,
    })
    const rest = (await read(from([1n, 2n]), { cursor })).answer
    expect(rest).toMatchObject({ data: [2], meta: { limit: 10_000, hasMore: false, nextCursor: null } })
  })

  test('are not continued by a cursor of another list', async () => {
    const { answer } = await read(from([1n, 2n]), { limit: 1 })
    const cursor = answer.meta?.nextCursor
    for (const query of [{ id: 8 }, { chainId: 56 }])
      expect(await refusalOf(read(from([1n, 2n]), { cursor, ...query }))).toEqual(['validation_error', 'cursor'])
    const { sources } = sourcesWith(from([1n, 2n]))
    const other = ofWallet.answer(sources, { chainId: 8453, addr: walletOf(7), cursor } as never)
    expect(await refusalOf(other)).toEqual(['validation_error', 'cursor'])
  })
})

describe('the source of a list', () => {
  const ids: Options = { index: [1n], chain: [1n, 2n] }

  test.each([
    [60n, 'database', false, [1]],
    [61n, 'chain', true, [1, 2]],
  ])('with an index that is %i s behind is the %s', async (lag, source, stale, data) => {
    const { answer } = await read({ ...ids, lag })
    expect(answer).toMatchObject({ data, freshness: { source, stale } })
    if (source === 'database') expect(answer.freshness).toMatchObject({ block: blockOf(60n), lagSeconds: 60 })
    else expect(answer.freshness.block).toEqual(chainBlock)
  })

  test('is the lagging index while no node answers, and the answer is stale', async () => {
    const { answer, pages } = await read({ index: [1n], chain: null, lag: 61n })
    expect(answer).toMatchObject({ data: [1], freshness: { source: 'database', stale: true, lagSeconds: 61 } })
    // The first attempt reads no ids of an index that lags.
    expect(pages).toEqual([[8453, 7n, { after: null, limit: 10_001 }]])
  })

  test('is none while both are out of reach: the error is that of the index', async () => {
    expect(await refusalOf(read({ index: null, chain: null }))).toEqual([
      ...['service_unavailable', 'the database is out of reach'],
    ])
  })

  test('is the chain for an event that the index does not know, whose list may be new', async () => {
    const { answer } = await read({ index: [], chain: [5n], known: false })
    expect(answer).toMatchObject({ data: [5], freshness: { source: 'chain', stale: false } })
    const gone = await read({ index: [], chain: [], known: false, exists: false })
    expect(gone.answer).toMatchObject({
      missing: 'event 7 does not exist on chain 8453',
      freshness: { source: 'chain' },
    })
    const unsure = await read({ index: [], chain: null, known: false })
    expect(unsure.answer).toMatchObject({ missing: 'event 7 does not exist on chain 8453', freshness: { stale: true } })
  })

  test('is the index where it has ids, without another query for the event', async () => {
    const { answer, calls } = await read({ index: [1n], chain: [5n], known: false })
    expect([answer.data, answer.freshness.source, calls]).toEqual([[1], 'database', []])
  })

  test('is the index for an empty list of an event that it knows, and for a list of an unknown wallet', async () => {
    const { answer, calls } = await read({ index: [], chain: [5n] })
    expect([answer.data, calls]).toEqual([[], []])
    const { sources } = sourcesWith({ index: [], chain: [5n] })
    expect(await ofWallet.answer(sources, { chainId: 8453, addr: creator } as never)).toMatchObject({ data: [] })
  })
})

describe('a fallback', () => {
  const answer = (source: 'chain' | 'database') => ({ data: source, freshness: { source, stale: false } }) as const
  const failing = (error: Error) => () => Promise.reject(error)

  test('answers only while the preferred source is out of reach, and is stale', async () => {
    let fallbacks = 0
    const fallback = async () => {
      fallbacks += 1
      return answer('database')
    }
    expect(await withFallback(async () => answer('chain'), fallback)).toEqual(answer('chain'))
    expect(fallbacks).toBe(0)
    expect(await withFallback(failing(unavailable('x')), fallback)).toEqual({
      ...{ data: 'database', freshness: { source: 'database', stale: true } },
    })
    await expect(withFallback(failing(invalidField('a', 'b')), fallback)).rejects.toThrow('a: b')
    expect(fallbacks).toBe(1)
  })

  test('that is out of reach too leaves the first error, and one that fails otherwise has its own', async () => {
    await expect(withFallback(failing(unavailable('x')), failing(unavailable('y')))).rejects.toThrow('x')
    await expect(withFallback(failing(unavailable('x')), failing(invalidField('a', 'b')))).rejects.toThrow('a: b')
  })
})

test('a chain that is not configured is refused', () => {
  const { sources } = sourcesWith({})
  expect(chainOf(sources.chains, 8453).deployment.chainId).toBe(8453)
  expect(() => chainOf(sources.chains, 56)).toThrow('chain 56 is not configured')
})

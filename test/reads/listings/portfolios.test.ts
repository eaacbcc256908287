import type { Address } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Holding, PortfolioRows } from '../../../src/db/queries/portfolios.ts'
import type { ListRow } from '../../../src/db/queries/rows.ts'
import { ServiceError } from '../../../src/lib/errors.ts'
import { type Kind, perKind } from '../../../src/protocol/entities.ts'
import type { ListSources } from '../../../src/reads/lists/sources.ts'
import { claimablesOf, portfoliosInParts } from '../../../src/reads/portfolio/parts.ts'
import { claimablesIn, type Portfolios, portfoliosOf } from '../../../src/reads/portfolio/portfolio.ts'
import { heldRows, listRow, listSources, tipOf, viewsNode } from '../../support/list-sources.ts'
import { blockOf, seedEvent, seedPosition, seedToken, walletOf } from '../../support/seed-index.ts'

/* Portfolios over rows of a fake database, which sees how many rows are read and which sums. */

type Held = {
  readonly id: number
  readonly chainId?: number
  readonly wallet?: number
  readonly isClaimable?: boolean
  readonly feeRate?: Holding['feeRate']
  readonly figures?: readonly (number | bigint)[]
  readonly token?: ListRow['token']
  readonly eventId?: number
}

const figuresOf: Readonly<Record<Kind, number>> = { event: 1, deposit: 3, position: 3 }

const holdingOf = (kind: Kind, held: Held): Holding => {
  const { id, chainId = 8453, wallet = 0, isClaimable = false, feeRate = 'rates_unknown', token = seedToken } = held
  const { eventId = kind === 'event' ? id : 1, figures = Array(figuresOf[kind]).fill(0) } = held
  const row = listRow(kind, chainId, id, { eventId: String(eventId), token })
  return { wallet, feeRate, isClaimable, figures: figures.map(BigInt), row }
}

type PortfolioQuery = Parameters<ListSources['lists']['portfolios']['of']>[0]
type Rows = Partial<Readonly<Record<Kind, readonly Held[]>>> & Partial<Pick<PortfolioRows, 'tips' | 'sums'>>

/** The holdings of each wallet and chain, of which the database returns at most `limit`, claimable ones first. */
const sourcesWith = (given: Rows | ((query: PortfolioQuery) => Rows)) =>
  listSources({
    portfolios: (query) => {
      const { limit, sums, wallets, chains } = query
      const rows = typeof given === 'function' ? given(query) : given
      const of = (kind: Kind): Holding[] =>
        wallets.flatMap((_, wallet) =>
          chains.flatMap(({ chainId }) =>
            (rows[kind] ?? [])
              .filter((it) => (it.wallet ?? 0) === wallet && (it.chainId ?? 8453) === chainId)
              .toSorted((a, b) => Number(b.isClaimable ?? false) - Number(a.isClaimable ?? false) || b.id - a.id)
              .slice(0, limit)
              .toSorted((a, b) => b.id - a.id)
              .map((held) => holdingOf(kind, held)),
          ),
        )
      return {
        tips: rows.tips ?? chains.map(({ chainId }) => tipOf(chainId)),
        ...heldRows(perKind(of)),
        sums: sums ? [...(rows.sums ?? [])] : [],
      }
    },
  })

type Asked = Parameters<typeof portfoliosOf>[1]

const read = async (rows: Rows, own: Partial<Asked> = {}) => {
  const fake = sourcesWith(rows)
  const found = await portfoliosOf(fake.sources, { wallets: [walletOf(0)], chainIds: [8453], ...own })
  return { ...fake, ...found }
}

const upTo = (count: number, own: Omit<Held, 'id'> = {}): Held[] =>
  Array.from({ length: count }, (_, at) => ({ id: at + 1, ...own }))

const sumOf = (own: Partial<PortfolioRows['sums'][number]>): PortfolioRows['sums'][number] => ({
  ...{ kind: 'position', wallet: 0, chainId: 8453, token: seedToken, symbol: null, decimals: null },
  ...{ claims: 0, figures: [0n, 0n, 0n] },
  ...own,
})

const refusalOf = async (page: Promise<unknown>): Promise<string> => {
  const error = await page.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ServiceError)) throw new Error(`expected a refusal, got ${error}`)
  return `${error.code}: ${error.message}`
}

describe.each(['event', 'deposit', 'position'] as const)('rows of kind %s', (kind) => {
  const listed = (record: Portfolios['records'][number] | undefined) =>
    record?.[`${kind}s`].map(({ id, chainId }) => `${chainId}/${id}`)

  test.each([2, 3])('are complete up to the bound of %i, and not above it', async (maxRows) => {
    const whole = await read({ [kind]: upTo(maxRows) }, { maxRows })
    expect(whole.records[0]).toMatchObject({ complete: true, claimablesComplete: true })
    expect(listed(whole.records[0])).toHaveLength(maxRows)
    expect(whole.portfolios.map(({ limit, sums }) => [limit, sums])).toEqual([[maxRows + 1, false]])

    const cut = await read({ [kind]: upTo(maxRows + 1) }, { maxRows })
    expect(cut.records[0]).toMatchObject({ complete: false, claimablesComplete: true })
    expect(listed(cut.records[0])).toEqual(
      listed(whole.records[0])?.map((name) => name.replace(/\d+$/, (id) => `${Number(id) + 1}`)),
    )
    // The rows are read again with the sums, so that both are of one statement.
    expect(cut.portfolios.map(({ limit, sums }) => [limit, sums])).toEqual([
      [maxRows + 1, false],
      [maxRows + 1, true],
    ])
  })

  test('are bounded on each chain and for each wallet alone', async () => {
    const wallets = [walletOf(0), walletOf(1)]
    const both = [...upTo(2), ...upTo(2, { chainId: 56 }), ...upTo(3, { chainId: 56, wallet: 1 })]
    const { records } = await read({ [kind]: both }, { wallets, chainIds: [8453, 56], maxRows: 2 })
    expect(records.map(({ complete }) => complete)).toEqual([true, false])
    expect(records.map(listed)).toEqual([
      ['8453/2', '8453/1', '56/2', '56/1'],
      ['56/3', '56/2'],
    ])
  })

  test('lose the oldest one that cannot be claimed, and a claimable one only if all can be', async () => {
    const some = [{ id: 1, isClaimable: true }, { id: 2 }, { id: 3 }, { id: 4 }]
    expect(listed((await read({ [kind]: some }, { maxRows: 3 })).records[0])).toEqual(['8453/4', '8453/3', '8453/1'])
    // Ids are numbers and not texts.
    expect(listed((await read({ [kind]: [{ id: 9 }, { id: 10 }] }, { maxRows: 1 })).records[0])).toEqual(['8453/10'])
    const all = upTo(3, { isClaimable: true })
    expect(listed((await read({ [kind]: all }, { maxRows: 2 })).records[0])).toEqual(['8453/3', '8453/2'])
  })

  test.each([
    [[2], true],
    [[3], false],
    // The bound is of a kind and a chain: claims in several tokens count together.
    [[1, 1], true],
    [[2, 1], false],
  ])('have all claims with %j claims in each token: %s', async (claims, complete) => {
    const figures = Array(figuresOf[kind]).fill(0n)
    const sums = claims.map((count, at) =>
      sumOf({ kind, claims: count, figures, token: at === 0 ? seedToken : walletOf(at) }),
    )
    const { records } = await read({ [kind]: upTo(3), sums }, { maxRows: 2 })
    expect(records[0]?.claimablesComplete).toBe(complete)
  })
})

test('claims of other kinds and chains do not count together', async () => {
  const sums = [
    sumOf({ claims: 2 }),
    sumOf({ claims: 2, chainId: 56 }),
    sumOf({ claims: 2, kind: 'deposit' }),
    sumOf({ claims: 2, kind: 'event', figures: [0n] }),
  ]
  const { records } = await read({ position: upTo(3), sums }, { maxRows: 2, chainIds: [8453, 56] })
  expect(records[0]).toMatchObject({ complete: false, claimablesComplete: true })
})

test('by default a portfolio has a thousand rows of a kind and chain, active ones, without inclusions', async () => {
  const { portfolios, records } = await read({ position: upTo(1_000) })
  expect(portfolios).toMatchObject([{ limit: 1_001, sums: false, activeOnly: true, include: [] }])
  expect(portfolios[0]?.chains).toEqual([{ chainId: 8453, roundsCapitalUp: false }])
  expect(records[0]).toMatchObject({ complete: true })
  expect(records[0]?.positions).toHaveLength(1_000)
  const more = await read({ position: upTo(1_001) }, { state: 'all', chainIds: undefined })
  expect(more.portfolios[0]).toMatchObject({ activeOnly: false })
  expect(more.portfolios[0]?.chains).toMatchObject([{ roundsCapitalUp: false }, { chainId: 56, roundsCapitalUp: true }])
  expect(more.records[0]?.complete).toBe(false)
  expect(more.records[0]?.positions).toHaveLength(1_000)
})

describe('totals', () => {
  const none = {
    notional: '0',
    premiumPaid: '0',
    deposited: '0',
    payout: '0',
    premiums: '0',
    capital: '0',
    creatorEarnings: '0',
  }
  const own = { chainId: 8453, token: seedToken, symbol: 'USDC', decimals: 6 }

  test('are the sums of the rows per chain and token, each figure under its name', async () => {
    const other = walletOf(8)
    const { records } = await read(
      {
        position: [
          { id: 1, figures: [1, 20, 300] },
          { id: 2, figures: [2, 40, 0] },
          { id: 3, chainId: 56, figures: [7, 7, 7] },
          { id: 4, token: other, figures: [9, 0, 0] },
        ],
        deposit: [{ id: 1, figures: [4_000, 50_000, 600_000] }],
        event: [{ id: 1, figures: [7_000_000] }],
      },
      { chainIds: [8453, 56] },
    )
    const byText = (totals: readonly object[]): string[] =>
      totals.map((total) => JSON.stringify(Object.entries(total).toSorted())).toSorted()
    const expected = [
      {
        ...{ ...own, ...none, creatorEarnings: '7000000', deposited: '4000', premiums: '50000', capital: '600000' },
        ...{ notional: '3', premiumPaid: '60', payout: '300' },
      },
      { ...own, ...none, token: other, notional: '9' },
      { ...own, ...none, chainId: 56, decimals: 18, notional: '7', premiumPaid: '7', payout: '7' },
    ]
    expect(byText(records[0]?.totals ?? [])).toEqual(byText(expected))
  })

  test('of a row whose event is not read yet are of the token that the row shows', async () => {
    const position = [
      { id: 1, token: null, figures: [1, 2, 3] },
      { id: 2, figures: [4, 5, 6] },
    ]
    const fake = sourcesWith({ position })
    const plan = { token: seedToken, wallets: 1, events: 1, rowsABlock: 1 } as const
    const { seen } = seedEvent(1, plan)
    const node = viewsNode({
      ...{ getHedgeEventCore: seen.core, getHedgeEventStats: seen.stats, getHedgeEventRange: seen.range },
      ...{ getPoolUtilization: seen.utilization, getEventPaymentToken: seedToken },
      getHedgePosition: seedPosition(1, plan).seen.position,
    })
    Object.assign(Object(fake.sources.chains.get(8453)), node)
    const { records, isIndexed } = await portfoliosOf(fake.sources, { wallets: [walletOf(0)], chainIds: [8453] })
    expect(records[0]?.totals).toEqual([{ ...own, ...none, notional: '5', premiumPaid: '7', payout: '9' }])
    expect([node.called.includes('getHedgePosition 1'), isIndexed]).toEqual([true, false])
  })

  test('of a wallet with more rows are the sums over all, with the tokens of the sums', async () => {
    const [other, third] = [walletOf(8), walletOf(9)]
    const sums = [
      sumOf({ figures: [10n, 20n, 30n] }),
      sumOf({ kind: 'deposit', figures: [4n, 5n, 6n] }),
      sumOf({ kind: 'event', figures: [2n ** 200n] }),
      sumOf({ token: other, figures: [1n, 0n, 0n] }),
      sumOf({ token: third, symbol: 'STORED', decimals: 3, figures: [2n, 0n, 0n] }),
      // Of another wallet.
      sumOf({ wallet: 1, figures: [999n, 999n, 999n] }),
      // Its event is not read yet, so its token is unknown.
      sumOf({ token: null, figures: [777n, 0n, 0n] }),
    ]
    const { records } = await read({ position: upTo(3, { figures: [1, 1, 1] }), sums }, { maxRows: 2 })
    expect(records[0]?.totals).toEqual([
      {
        ...{ ...own, ...none, notional: '10', premiumPaid: '20', payout: '30' },
        ...{ deposited: '4', premiums: '5', capital: '6', creatorEarnings: String(2n ** 200n) },
      },
      { ...own, token: other, symbol: 'on 8453', ...none, notional: '1' },
      { ...own, token: third, symbol: 'STORED', decimals: 3, ...none, notional: '2' },
    ])
    expect(records[0]?.chains).toMatchObject([{ chainId: 8453, status: 'stale' }])
  })
})

test('a wallet that is asked for twice does not move the totals of the wallets after it', async () => {
  const wallets = [walletOf(0), walletOf(0), walletOf(1)]
  const sums = [sumOf({ wallet: 1, claims: 3, figures: [10n, 20n, 30n] })]
  const { records } = await read({ position: upTo(3, { wallet: 1 }), sums }, { wallets, maxRows: 2 })
  expect(records.map(({ wallet, complete, totals }) => [wallet, complete, totals[0]?.notional])).toEqual([
    [walletOf(0), true, undefined],
    [walletOf(0), true, undefined],
    [walletOf(1), false, '10'],
  ])
})

test('each amount that can be claimed has the builder of its kind, its fee and what it pays', async () => {
  const { records } = await read({
    position: [{ id: 5, feeRate: 10_000n, figures: [1, 1, 2_000_001] }],
    deposit: [
      { id: 6, feeRate: 20_000n, figures: [1, 1_000_000, 50] },
      { id: 7, feeRate: 'rates_contradicted', figures: [0, 9, 0] },
      { id: 8, figures: [0, 9, 0] },
    ],
    event: [{ id: 9, figures: [77] }],
  })
  const claims = records[0]?.claimables.map((it) => [
    ...[it.kind, it.id, it.amount, it.fee, it.net, it.feeReason, it.build.path.split('/').at(-1)],
    JSON.stringify(it.build.body),
  ])
  const unknown = [null, null]
  expect(claims?.toSorted()).toEqual(
    [
      ['payout', 5, '2000001', '20000', '1980001', null, 'claim-payout', '{"chainId":8453,"positionId":5}'],
      ['premiums', 6, '1000000', '20000', '980000', null, 'claim-premiums', '{"chainId":8453,"depositId":6}'],
      ['capital', 6, '50', '0', '50', null, 'withdraw-capital', '{"chainId":8453,"depositId":6}'],
      ['premiums', 7, '9', ...unknown, 'rates_contradicted', 'claim-premiums', '{"chainId":8453,"depositId":7}'],
      ['premiums', 8, '9', ...unknown, 'rates_unknown', 'claim-premiums', '{"chainId":8453,"depositId":8}'],
      ['creator-earnings', 9, '77', '0', '77', null, 'withdraw-creator-earnings', '{"chainId":8453,"eventId":9}'],
    ].toSorted(),
  )
})

test('claimable amounts name their wallets and events, by chain and kind', async () => {
  const { records } = await portfoliosOf(
    sourcesWith({
      position: [
        { id: 1, eventId: 11, figures: [0, 0, 5] },
        { id: 1, eventId: 12, chainId: 56, figures: [0, 0, 5] },
      ],
      deposit: [{ id: 1, eventId: 13, figures: [0, 5, 0] }],
      event: [{ id: 1, figures: [5] }],
    }).sources,
    { wallets: [walletOf(0)] },
  )
  const { claimables, isComplete } = claimablesIn({ records })
  expect(isComplete).toBe(true)
  expect(claimables.map(({ wallet, kind, chainId, eventId }) => [wallet, kind, chainId, eventId]).toSorted()).toEqual(
    [
      [walletOf(0), 'payout', 8453, 11],
      [walletOf(0), 'payout', 56, 12],
      [walletOf(0), 'premiums', 8453, 13],
      [walletOf(0), 'creator-earnings', 8453, 1],
    ].toSorted(),
  )
})

describe('the chains of a portfolio', () => {
  const head = (seconds: bigint) => ({ timestamp: blockOf(100n).timestamp + seconds, isQuiet: false, ageSeconds: 1 })

  test.each([
    [60n, 'ok'],
    [61n, 'stale'],
  ])('are %i s behind: %s', async (seconds, status) => {
    const { records, freshness } = await read({ tips: [tipOf(8453, { head: head(seconds) })] })
    expect(records[0]?.chains).toMatchObject([{ chainId: 8453, status, blockNumber: 100, lagSeconds: Number(seconds) }])
    expect(freshness).toEqual({
      source: 'database',
      stale: status !== 'ok',
      block: blockOf(100n),
      lagSeconds: Number(seconds),
    })
  })

  test('are unavailable where they are not indexed, unless none is', async () => {
    const { records, freshness } = await read({ tips: [tipOf(56, { isRefreshing: true })] }, { chainIds: [8453, 56] })
    expect(records[0]?.chains).toEqual([
      {
        chainId: 8453,
        status: 'unavailable',
        blockNumber: null,
        blockHash: null,
        blockTimestamp: null,
        lagSeconds: null,
      },
      expect.objectContaining({ chainId: 56, status: 'ok', blockNumber: 100, lagSeconds: 0 }),
    ])
    expect(freshness).toMatchObject({ stale: true, block: blockOf(100n) })
    expect(await refusalOf(read({ tips: [] }, { chainIds: [8453, 56] }))).toBe(
      'service_unavailable: chain 8453 and 56 is not indexed yet',
    )
  })

  test('have to be as new as the request requires', async () => {
    expect((await read({}, { atLeast: 100n })).records).toHaveLength(1)
    expect(await refusalOf(read({}, { atLeast: 101n }))).toContain('block 101 of chain 8453 is not indexed yet')
  })

  test('are refreshing after a rollback', async () => {
    const tips = [tipOf(8453), tipOf(56, { isRefreshing: true })]
    expect((await read({ tips }, { chainIds: [8453, 56] })).refreshing).toEqual([56])
  })
})

describe('portfolios of many wallets', () => {
  const wallets = (count: number): Address[] => Array.from({ length: count }, (_, nth) => walletOf(nth))
  const tipAt = (block: bigint, lag: bigint, ageSeconds = 1) =>
    tipOf(8453, {
      block: blockOf(block),
      head: { timestamp: blockOf(block).timestamp + lag, isQuiet: false, ageSeconds },
    })

  test.each([
    [1, [1]],
    [4, [4]],
    [5, [4, 1]],
    [9, [4, 4, 1]],
  ])('%i wallets are read in parts of %j, in their order and each once', async (count, parts) => {
    const { sources, portfolios } = sourcesWith({})
    const asked = wallets(count)
    const { records } = await portfoliosInParts(sources, { wallets: [...asked, walletOf(0)], chainIds: [8453] })
    expect(records.map(({ wallet }) => wallet)).toEqual([...asked, walletOf(0)])
    expect(portfolios.map((query) => query.wallets.length)).toEqual(parts)
  })

  test('are as of the oldest part, with its block and the greatest lag', async () => {
    const tips = [tipAt(90n, 3n), tipAt(80n, 1n), tipAt(100n, 2n)]
    const { sources } = listSources({
      portfolios: () => ({
        tips: [tips.shift() ?? tipOf(8453)],
        ...heldRows({}),
        sums: [],
      }),
    })
    const { freshness } = await portfoliosInParts(sources, { wallets: wallets(9), chainIds: [8453] })
    expect(freshness).toEqual({ source: 'database', stale: false, block: blockOf(80n), lagSeconds: 3 })
  })

  test('are stale and refreshing if one part is, and without a lag if one has none', async () => {
    const tips = [tipOf(8453, { isRefreshing: true }), tipOf(8453, { head: null, isRefreshing: true }), tipOf(8453)]
    const { sources } = listSources({
      portfolios: () => ({
        tips: [tips.shift() ?? tipOf(8453)],
        ...heldRows({}),
        sums: [],
      }),
    })
    const found = await portfoliosInParts(sources, { wallets: wallets(9), chainIds: [8453] })
    expect(found.freshness).toEqual({ source: 'database', stale: true, block: blockOf(100n) })
    expect(found.refreshing).toEqual([8453])
    expect(found.isIndexed).toBe(true)
  })

  test('give the claims of all wallets, which are complete if each part is', async () => {
    const cutSums = [sumOf({ claims: 1_001 })]
    const { sources, portfolios } = sourcesWith({ event: [{ id: 3, figures: [5] }], sums: cutSums })
    const found = await claimablesOf(sources, { wallets: [...wallets(5), walletOf(0)], chainIds: [8453] })
    // The fake gives the event to the first wallet of each part.
    expect(found.claimables.map(({ wallet, eventId }) => [wallet, eventId])).toEqual([
      [walletOf(0), 3],
      [walletOf(4), 3],
    ])
    expect(found.isComplete).toBe(true)
    expect(portfolios.map((query) => query.wallets.length)).toEqual([4, 1])
    const cut = sourcesWith({ position: upTo(1_001, { isClaimable: true }), sums: cutSums }).sources
    expect((await claimablesOf(cut, { wallets: [walletOf(0)], chainIds: [8453] })).isComplete).toBe(false)
  })

  test.each([
    ['are incomplete if those of one part are', 1_001, false],
    ['are complete although not all rows are listed', 0, true],
  ])('give claims that %s', async (_, claims, isComplete) => {
    const position = upTo(1_001, { isClaimable: claims > 0 })
    const cut = { position, sums: [sumOf({ claims })] }
    // Only the second part has a wallet with more rows than a portfolio lists.
    const { sources, portfolios } = sourcesWith(({ wallets }) => (wallets[0] === walletOf(4) ? cut : {}))
    const found = await claimablesOf(sources, { wallets: wallets(5), chainIds: [8453] })
    expect(portfolios.map((query) => [query.wallets.length, query.sums])).toEqual([
      [4, false],
      [1, false],
      [1, true],
    ])
    expect(found.isComplete).toBe(isComplete)
  })
})

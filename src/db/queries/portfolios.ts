import type { Address } from 'viem'
import type { FeeRate } from '../../protocol/claim-fees.ts'
import { entities, type Kind, kinds, perKind } from '../../protocol/entities.ts'
import { type Inclusion, shownBy } from '../../protocol/rows.ts'
import type { Database } from '../pool.ts'
import * as t from '../schema/records.ts'
import { bytes, isActive, isClaimable } from './filters.ts'
import { bounds, type ListQuery, listQueryText, listQueryValues } from './listings.ts'
import {
  type Cells,
  feeRateOf,
  type ListRow,
  observedJoins,
  parseRate,
  type RowReader,
  rowReader,
  tables,
} from './rows.ts'
import { parseTips, tipsText } from './tips.ts'

/** One entity of a wallet: a row, and the figures from which totals are computed. */
export type Holding = {
  /** The index of the wallet in the query, from 0. */
  readonly wallet: number
  /** The rate of the fee on the claimable amount that has one. */
  readonly feeRate: FeeRate
  /** Whether something can be claimed now. */
  readonly isClaimable: boolean
  /** The values of `figures`, in the token's units. */
  readonly figures: readonly bigint[]
  readonly row: ListRow
}

const isWithdrawable = 'e.settled_at > 0 AND NOT s.withdrawn'

/**
 * A deposit's part of the pool after payouts, rounded as the protocol of its chain does: its amount less its part of the
 * payouts, which is rounded down, or its part by shares, rounded down.
 */
const capitalOf = (
  sharesOfEvent: string,
): string => `CASE WHEN ${isWithdrawable} THEN coalesce(CASE WHEN query.rounds_up
      THEN f.amount - div(e.total_max_payout * f.amount, nullif(e.total_liquidity, 0))
      ELSE div((e.total_liquidity - e.total_max_payout) * f.shares, ${sharesOfEvent}) END, 0) ELSE 0 END`

/** The figures of each kind as expressions over f, s and e. Amounts that cannot be claimed now are 0. */
const figures = {
  position: {
    notional: 'f.notional',
    premiumPaid: 'f.premium_paid',
    payout: `CASE WHEN ${isClaimable.position} THEN s.payout_amount ELSE 0 END`,
  },
  deposit: {
    deposited: 'CASE WHEN s.withdrawn THEN 0 ELSE f.amount END',
    premiums: 'coalesce(s.pending, 0)',
    capital: capitalOf(`(SELECT nullif(sum(of_event.shares), 0)
        FROM deposits of_event WHERE of_event.chain_id = f.chain_id AND of_event.event_id = f.event_id)`),
  },
  event: { creatorEarnings: 'coalesce(e.creator_earnings, 0)' },
} as const satisfies Readonly<Record<Kind, Readonly<Record<string, string>>>>

type Figure = { [K in Kind]: keyof (typeof figures)[K] }[Kind]

/** The fee rate of each kind's claimable amount that has a fee. It is read only where there is such an amount. */
const feeRates: Readonly<Record<Kind, string>> = {
  position: `CASE WHEN ${isClaimable.position} THEN ${feeRateOf(entities.position.claims.payout.feeRate)} END`,
  deposit: `CASE WHEN s.pending > 0 THEN ${feeRateOf(entities.deposit.claims.premiums.feeRate)} END`,
  event: 'NULL',
}

/** The names of each kind's figures, in their order in a holding. */
export const figureNames = perKind((kind): readonly Figure[] => Object.keys(figures[kind]) as Figure[])

/** What the text of the statement depends on, apart from the numbers of chains and wallets. */
type Form = Pick<PortfolioQuery, 'activeOnly' | 'sums'>

const roundsUp = (parameter: string): string =>
  `(SELECT *, chain_id = ANY(${parameter}::integer[]) AS rounds_up FROM query) query`

const conditionOf = (kind: Kind, activeOnly: boolean): string =>
  `f.chain_id = query.chain_id AND f.${tables[kind].owner} = owned.by AND f.block_number <= query.up_to ${activeOnly ? `AND ${isActive[kind]}` : ''}`

/** A row of the statement, whose branches all have `width` columns. They are texts: those of kinds have different types. */
const padded = (width: number, texts: readonly string[]): string =>
  Array.from({ length: width }, (_, at) => texts[at] ?? 'NULL::text').join()

const asTexts = (expressions: readonly string[]): string[] => expressions.map((it) => `(${it})::text`)

/** The columns before the figures: the kind, the wallet, the fee rate, and whether something can be claimed. */
const HEAD = 4

/** The expressions of a holding after its kind and its wallet, over f, s and e, and what the reader joins to them. */
const expressionsOf = (kind: Kind, reader: RowReader): string[] =>
  asTexts([
    feeRates[kind],
    `coalesce(${isClaimable[kind]}, false)`,
    ...Object.values(figures[kind]),
    ...reader.expressions,
  ])

const holdings = (
  kind: Kind,
  { activeOnly }: Form,
  [owned = '', limit, roundUp = '']: readonly string[],
  reader: RowReader,
  width: number,
): string => {
  const expressions = expressionsOf(kind, reader)
  const each = `SELECT f.id, f.block_timestamp, ${expressions.map((it, at) => `${it} AS c${at}`).join()}
    FROM ${tables[kind].facts} f ${observedJoins(kind)} ${reader.furtherJoins} WHERE ${conditionOf(kind, activeOnly)}
    ORDER BY coalesce(${isClaimable[kind]}, false) DESC, f.id DESC LIMIT ${limit}`
  const texts = [`'${kind}'`, 'owned.nth::text', ...expressions.map((_, at) => `f.c${at}`)]
  return `(SELECT ${padded(width, texts)} FROM ${roundsUp(roundUp)} CROSS JOIN ${owned}
    CROSS JOIN LATERAL (${each}) f ORDER BY owned.nth, f.block_timestamp DESC, query.chain_id, f.id DESC)`
}

const TIPS = 'tips'
const SUMS = 'sums'

/** The shares of all deposits of each event that one of the wallets has deposited into. */
const poolsText = (owned: string): string =>
  `pools AS MATERIALIZED (SELECT chain_id, event_id, nullif(sum(shares), 0) AS shares FROM deposits
    WHERE (chain_id, event_id) IN (SELECT d.chain_id, d.event_id FROM ${owned} JOIN deposits d ON d.lp = owned.by JOIN query USING (chain_id))
    GROUP BY chain_id, event_id)`

/**
 * The sums of the figures over all entities of a kind, per wallet, chain and token, and how many of them can be claimed.
 * The shares of an event are summed once and not for each deposit.
 */
const sumsOf = (
  kind: Kind,
  { activeOnly }: Form,
  [owned = '', , roundUp = '']: readonly string[],
  width: number,
): string => {
  const ofKind: Readonly<Record<string, string>> =
    kind === 'deposit' ? { ...figures.deposit, capital: capitalOf('pools.shares') } : figures[kind]
  const pools =
    kind === 'deposit' ? 'LEFT JOIN pools ON pools.chain_id = f.chain_id AND pools.event_id = f.event_id' : ''
  const each = Object.values(ofKind).map((figure, at) => `sum(${figure}) AS figure${at}`)
  const shown = ['f.nth', 'f.chain_id', 'f.token', 't.symbol', 't.decimals', 'f.claims']
  const texts = [`'${SUMS}'`, `'${kind}'`, ...asTexts([...shown, ...each.map((_, at) => `f.figure${at}`)])]
  return `(SELECT ${padded(width, texts)}
    FROM (SELECT owned.nth, f.chain_id, e.payment_token AS token, count(*) FILTER (WHERE ${isClaimable[kind]}) AS claims, ${each.join()}
      FROM ${roundsUp(roundUp)} CROSS JOIN ${owned} CROSS JOIN ${tables[kind].facts} f
      ${observedJoins(kind)} ${pools} WHERE ${conditionOf(kind, activeOnly)} GROUP BY owned.nth, f.chain_id, e.payment_token) f
    LEFT JOIN tokens t ON t.chain_id = f.chain_id AND t.address = f.token ORDER BY f.nth, f.chain_id, f.token)`
}

/** The sums of a wallet's entities of a kind in a token, over all of them. */
export type Sums = Pick<Holding, 'wallet' | 'figures'> &
  Pick<ListRow, 'chainId' | 'token' | 'symbol' | 'decimals'> & {
    readonly kind: Kind
    /** How many of the entities can be claimed. */
    readonly claims: number
  }

const figuresIn = (kind: Kind, cells: Cells, from: number): bigint[] =>
  figureNames[kind].map((_, at) => (cells[from + at] === '0' ? 0n : BigInt(cells[from + at] ?? 0)))

const parseSums = (cells: Cells): Sums => {
  const [, kindName, nth, chainId, token, symbol, decimals, claims] = cells
  const kind = kinds.find((it) => it === kindName) ?? 'event'
  return {
    kind,
    wallet: Number(nth) - 1,
    chainId: Number(chainId),
    token: token == null ? null : t.tokens.address.mapFromDriverValue(token),
    symbol: symbol == null ? null : t.tokens.symbol.mapFromDriverValue(symbol),
    decimals: decimals == null ? null : Number(decimals),
    claims: Number(claims),
    figures: figuresIn(kind, cells, 8),
  } as Sums
}

const parseHolding = (kind: Kind, cells: Cells, reader: RowReader): Holding => {
  const [, nth, rate, claimable] = cells
  return {
    wallet: Number(nth) - 1,
    feeRate: parseRate(rate),
    isClaimable: claimable === 'true',
    figures: figuresIn(kind, cells, HEAD),
    row: reader.parse(cells, HEAD + figureNames[kind].length),
  }
}

const start = { after: null, upTo: null, now: null, rollback: null } as const

/**
 * The statement for a number of chains and of wallets. Its first `after` values are those of the chains. Each of its rows
 * begins with what it is: the tips, a holding of a kind, or sums.
 */
const textFor = (
  chains: number,
  after: number,
  wallets: number,
  form: Form,
  readers: Readonly<Record<Kind, RowReader>>,
): string => {
  // Not an array, for which a generic plan expects many rows and looks too expensive.
  const each = Array.from({ length: wallets }, (_, at) => `($${after + 3 + at}::bytea, ${at + 1})`)
  const owned = `(VALUES ${each.join()}) AS owned (by, nth)`
  const parameters = [owned, `$${after + 1}`, `$${after + 2}`]
  const width = Math.max(...kinds.map((kind) => 2 + expressionsOf(kind, readers[kind]).length))
  const rows = kinds.map((kind) => holdings(kind, form, parameters, readers[kind], width))
  const tips = `SELECT ${padded(width, [`'${TIPS}'`, tipsText({ reorged: false, refreshing: true })])}`
  const sums = form.sums ? kinds.map((kind) => sumsOf(kind, form, parameters, width)) : []
  const pools = form.sums ? `, ${poolsText(owned)}` : ''
  return `WITH ${listQueryText(chains)}${pools} ${[tips, ...rows, ...sums].join(' UNION ALL ')}`
}

const texts = new Map<string, string>()

type PortfolioQuery = {
  readonly wallets: readonly Address[]
  /** The chains, how their protocol rounds withdrawals and, for rows that were created up to a block, that block. */
  readonly chains: readonly (Pick<ListQuery, 'chainId'> &
    Partial<Pick<ListQuery, 'upTo' | 'now'>> & { readonly roundsCapitalUp: boolean })[]
  readonly activeOnly: boolean
  /** What rows show in addition, where their kind can. */
  readonly include: readonly Inclusion[]
  readonly limit: number
  /** Whether to sum the figures over all entities too, beyond the limit. */
  readonly sums: boolean
}

export type PortfolioRows = Awaited<ReturnType<ReturnType<typeof createPortfolios>['of']>>

/** Creates the portfolio queries of a database. A query is one statement for any number of wallets. */
export const createPortfolios = (database: Pick<Database, 'rows'>) => ({
  /**
   * Reads the entities of wallets in one snapshot, newest first: at most `limit` of each kind per wallet and chain,
   * those that can be claimed before the others, and, if wanted, the sums over all. The wallets must be distinct. Throws
   * `service_unavailable` when the database is out of reach.
   */
  async of({ wallets, chains, activeOnly, include, limit, sums }: PortfolioQuery) {
    const queries = chains.map((chain) => ({ ...start, ...chain }))
    const ofChains = listQueryValues(queries, bounds.asc)
    const roundUp = chains.flatMap(({ chainId, roundsCapitalUp }) => (roundsCapitalUp ? [chainId] : []))
    const values = [...ofChains, limit, `{${roundUp.join()}}`, ...wallets.map(bytes)]
    const readers = perKind((kind) => rowReader(kind, shownBy(kind, include)))
    const shown = kinds.map((kind) => readers[kind].name)
    const name = ['portfolio', activeOnly, wallets.length, queries.length, sums, ...shown].join(' ')
    const form = { activeOnly, sums }
    const text = texts.get(name) ?? textFor(queries.length, ofChains.length, wallets.length, form, readers)
    texts.set(name, text)
    const rows = await database.rows({ name, text, values })
    const found = new Map<string | null | undefined, Cells[]>([TIPS, SUMS, ...kinds].map((what) => [what, []]))
    for (const cells of rows) found.get(cells[0])?.push(cells)
    const of = (what: string): readonly Cells[] => found.get(what) ?? []
    return {
      tips: parseTips(of(TIPS)[0]?.[1]),
      holdings: perKind((kind) => of(kind)),
      /** Parses a row of holdings. */
      parse: (kind: Kind, cells: Cells): Holding => parseHolding(kind, cells, readers[kind]),
      sums: of(SUMS).map(parseSums),
    }
  },
})

import type { Address } from 'viem'
import { entities, type Kind, kinds, perKind } from '../../protocol/entities.ts'
import { type Inclusion, shownBy } from '../../protocol/rows.ts'
import type { Database } from '../pool.ts'
import { UNIT } from '../rendering.ts'
import { bytes, isActive, isClaimable } from './filters.ts'
import { addresses, bounds, type ListQuery, listQueryText, listQueryValues } from './listings.ts'
import { feeRateOf, observedJoins, readTexts, rowSql, tables } from './rows.ts'
import { parseTips, tipsText } from './tips.ts'

/** One entity of a wallet: a row (see `rows.ts`), and the figures from which totals are computed. */
export type Holding = {
  /** The index of the wallet in the query, from 0. */
  readonly wallet: number
  readonly chainId: string
  readonly id: string
  /** The token's address in hex without a prefix; empty while the event is not observed yet. */
  readonly token: string
  /** The rate of the fee on the claimable amount that has one; null when there is no such amount or it is unknown. */
  readonly feeRate: bigint | null
  /** The values of `figures`, in the token's units. */
  readonly figures: readonly bigint[]
}

const isWithdrawable = 'e.settled_at > 0 AND NOT s.withdrawn'

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
    // The deposit's part of the pool after payouts, rounded as the protocol of its chain does: its amount less its part
    // of the payouts, which is rounded down, or its part by shares, rounded down.
    capital: `CASE WHEN ${isWithdrawable} THEN coalesce(CASE WHEN query.rounds_up
      THEN f.amount - div(e.total_max_payout * f.amount, nullif(e.total_liquidity, 0))
      ELSE div((e.total_liquidity - e.total_max_payout) * f.shares, (SELECT nullif(sum(of_event.shares), 0)
        FROM deposits of_event WHERE of_event.chain_id = f.chain_id AND of_event.event_id = f.event_id)) END, 0) ELSE 0 END`,
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
type Form = { readonly activeOnly: boolean; readonly include: readonly Inclusion[]; readonly columns: boolean }

const holdings = (
  kind: Kind,
  { activeOnly, include, columns }: Form,
  [owned, limit, roundUp]: readonly string[],
): string => {
  const { facts, owner } = tables[kind]
  const head = [
    'owned.nth',
    'f.chain_id',
    'f.id',
    `encode(e.payment_token, 'hex')`,
    feeRates[kind],
    ...Object.values(figures[kind]),
  ]
  const each = `SELECT f.id, f.block_timestamp, ${rowSql(kind, { head, include: shownBy(kind, include), columns })} AS row
    FROM (SELECT *, query.render_key FROM ${facts}) f ${observedJoins(kind)} WHERE f.chain_id = query.chain_id AND f.${owner} = owned.by AND f.block_number <= query.up_to ${activeOnly ? `AND ${isActive[kind]}` : ''}
    ORDER BY coalesce(${isClaimable[kind]}, false) DESC, f.id DESC LIMIT ${limit}`
  return `(SELECT '${kind}', f.row FROM (SELECT *, chain_id = ANY(${roundUp}::integer[]) AS rounds_up FROM query) query CROSS JOIN ${owned}
    CROSS JOIN LATERAL (${each}) f ORDER BY owned.nth, f.block_timestamp DESC, query.chain_id, f.id DESC)`
}

const TIPS = 'tips'

const start = { after: null, upTo: null, now: null, rollback: null } as const

/**
 * The statement for a number of chains. Its first `after` values are those of the chains. Its rows are `TIPS` with the
 * tips, and each holding with its kind: one text of all holdings would be megabytes, which take the server and this
 * process longer to make than the holdings.
 */
const textFor = (chains: number, after: number, isOne: boolean, form: Form): string => {
  // One wallet is a single value: for an array, a generic plan expects many rows and looks too expensive.
  const owned = isOne
    ? `(VALUES ($${after + 1}::bytea, 1)) AS owned (by, nth)`
    : `unnest($${after + 1}::bytea[]) WITH ORDINALITY AS owned (by, nth)`
  const each = kinds.map((kind) => holdings(kind, form, [owned, `$${after + 2}`, `$${after + 3}`]))
  const tips = `SELECT '${TIPS}', ${tipsText({ reorged: false, refreshing: true })}`
  return `WITH ${listQueryText(chains)} ${[tips, ...each].join(' UNION ALL ')}`
}

const texts = new Map<string, string>()

/** Parses a row of `PortfolioRows`. */
export const parseHolding = (line: string): Holding => {
  const at = line.indexOf(UNIT)
  const [nth, chainId = '', id = '', token = '', rate, ...rest] = line.slice(0, at).split(',')
  const feeRate = rate ? BigInt(rate) : null
  return { wallet: Number(nth) - 1, chainId, id, token, feeRate, figures: rest.map(BigInt) }
}

type PortfolioQuery = {
  readonly wallets: readonly Address[]
  /** The chains, with the render key whose texts may be served, and how their protocol rounds withdrawals. */
  readonly chains: readonly (Pick<ListQuery, 'chainId' | 'renderKey'> & { readonly roundsCapitalUp: boolean })[]
  readonly activeOnly: boolean
  /** What rows show in addition, where their kind can. */
  readonly include: readonly Inclusion[]
  readonly limit: number
}

export type PortfolioRows = Awaited<ReturnType<ReturnType<typeof createPortfolios>['of']>>

/** Creates the portfolio queries of a database. A query is one statement for any number of wallets. */
export const createPortfolios = (database: Pick<Database, 'rows'>) => ({
  /**
   * Reads the entities of wallets in one snapshot, newest first: at most `limit` of each kind per wallet and chain,
   * those that can be claimed before the others; `parseHolding` parses them. The wallets must be distinct. Throws `service_unavailable` when the
   * database is out of reach.
   */
  async of({ wallets, chains, activeOnly, include, limit }: PortfolioQuery) {
    const queries = chains.map((chain) => ({ ...start, ...chain }))
    const [first, second] = wallets
    const isOne = first !== undefined && second === undefined
    const ofChains = listQueryValues(queries, bounds.asc)
    const roundUp = chains.flatMap(({ chainId, roundsCapitalUp }) => (roundsCapitalUp ? [chainId] : []))
    const values = [...ofChains, isOne ? bytes(first) : addresses(wallets), limit, `{${roundUp.join()}}`]
    const rows = await readTexts(database, (columns) => {
      const name = ['portfolio', activeOnly, isOne, queries.length, columns, ...include].join(' ')
      const text = texts.get(name) ?? textFor(queries.length, ofChains.length, isOne, { activeOnly, include, columns })
      texts.set(name, text)
      return { name, text, values }
    })
    const found = new Map<string | null | undefined, string[]>([TIPS, ...kinds].map((kind) => [kind, []]))
    for (const [kind, text] of rows) if (text != null) found.get(kind)?.push(text)
    return { tips: parseTips(found.get(TIPS)?.[0]), holdings: perKind((kind) => found.get(kind) ?? []) }
  },
})

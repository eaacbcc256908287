import { type Address, getAddress, zeroAddress } from 'viem'
import type { FeeRate } from '../../protocol/claim-fees.ts'
import { entities, type Kind, kinds, perKind } from '../../protocol/entities.ts'
import { type Inclusion, shownBy } from '../../protocol/rows.ts'
import type { Token } from '../../protocol/tokens.ts'
import type { Database } from '../pool.ts'
import { UNIT } from '../rendering.ts'
import { bytes, isActive, isClaimable } from './filters.ts'
import { addresses, bounds, type ListQuery, listQueryText, listQueryValues } from './listings.ts'
import { feeRateOf, observedJoins, parseRate, readTexts, rowSql, tables } from './rows.ts'
import { parseTips, tipsText } from './tips.ts'

/** One entity of a wallet: a row (see `rows.ts`), and the figures from which totals are computed. */
export type Holding = {
  /** The index of the wallet in the query, from 0. */
  readonly wallet: number
  readonly chainId: string
  readonly id: string
  /** The token's address in hex without a prefix; empty while the event is not observed yet. */
  readonly token: string
  /** The rate of the fee on the claimable amount that has one. */
  readonly feeRate: FeeRate
  /** Whether something can be claimed now. */
  readonly isClaimable: boolean
  /** The values of `figures`, in the token's units. */
  readonly figures: readonly bigint[]
  readonly text: string
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
type Form = Pick<PortfolioQuery, 'activeOnly' | 'include' | 'sums'> & { readonly columns: boolean }

const roundsUp = (parameter: string): string =>
  `(SELECT *, chain_id = ANY(${parameter}::integer[]) AS rounds_up FROM query) query`

const conditionOf = (kind: Kind, activeOnly: boolean): string =>
  `f.chain_id = query.chain_id AND f.${tables[kind].owner} = owned.by AND f.block_number <= query.up_to ${activeOnly ? `AND ${isActive[kind]}` : ''}`

const holdings = (
  kind: Kind,
  { activeOnly, include, columns }: Form,
  [owned = '', limit, roundUp = '']: readonly string[],
): string => {
  const { facts } = tables[kind]
  const head = [
    'owned.nth',
    'f.chain_id',
    'f.id',
    `encode(e.payment_token, 'hex')`,
    feeRates[kind],
    `coalesce(${isClaimable[kind]}, false)`,
    ...Object.values(figures[kind]),
  ]
  const each = `SELECT f.id, f.block_timestamp, ${rowSql(kind, { head, include: shownBy(kind, include), columns })} AS row
    FROM (SELECT *, query.render_key FROM ${facts}) f ${observedJoins(kind)} WHERE ${conditionOf(kind, activeOnly)}
    ORDER BY coalesce(${isClaimable[kind]}, false) DESC, f.id DESC LIMIT ${limit}`
  return `(SELECT '${kind}', f.row FROM ${roundsUp(roundUp)} CROSS JOIN ${owned}
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
const sumsOf = (kind: Kind, { activeOnly }: Form, [owned = '', , roundUp = '']: readonly string[]): string => {
  const ofKind: Readonly<Record<string, string>> =
    kind === 'deposit' ? { ...figures.deposit, capital: capitalOf('pools.shares') } : figures[kind]
  const pools =
    kind === 'deposit' ? 'LEFT JOIN pools ON pools.chain_id = f.chain_id AND pools.event_id = f.event_id' : ''
  const each = Object.values(ofKind).map((figure, at) => `sum(${figure}) AS figure${at}`)
  const shown = ['f.nth', 'f.chain_id', `encode(f.token, 'hex')`, `encode(t.symbol, 'hex')`, 't.decimals', 'f.claims']
  return `(SELECT '${SUMS}', '${kind},' || concat(${[...shown, ...each.map((_, at) => `f.figure${at}`)].join(`, ',', `)})
    FROM (SELECT owned.nth, f.chain_id, e.payment_token AS token, count(*) FILTER (WHERE ${isClaimable[kind]}) AS claims, ${each.join()}
      FROM ${roundsUp(roundUp)} CROSS JOIN ${owned} CROSS JOIN ${tables[kind].facts} f
      ${observedJoins(kind)} ${pools} WHERE ${conditionOf(kind, activeOnly)} GROUP BY owned.nth, f.chain_id, e.payment_token) f
    LEFT JOIN tokens t ON t.chain_id = f.chain_id AND t.address = f.token ORDER BY f.nth, f.chain_id, f.token)`
}

/** The sums of a wallet's entities of a kind in a token, over all of them. */
export type Sums = Pick<Holding, 'wallet' | 'chainId' | 'token' | 'figures'> & {
  readonly kind: Kind
  /** The stored symbol and decimals of the token; null where they are not stored: configured tokens are not. */
  readonly stored: Token | null
  /** How many of the entities can be claimed. */
  readonly claims: number
}

const parseSums = (line: string): Sums => {
  const [kind, nth, chainId = '', token = '', symbol, decimals, claims, ...rest] = line.split(',')
  const stored = {
    token: token === '' ? zeroAddress : getAddress(`0x${token}`),
    symbol: symbol ? Buffer.from(symbol, 'hex').toString('utf8') : null,
    decimals: decimals ? Number(decimals) : null,
  }
  const isStored = stored.symbol !== null || stored.decimals !== null
  const found = {
    wallet: Number(nth) - 1,
    chainId,
    token,
    claims: Number(claims),
    figures: rest.map((amount) => (amount === '0' ? 0n : BigInt(amount))),
  }
  return { kind: kinds.find((it) => it === kind) ?? 'event', ...found, stored: isStored ? stored : null }
}

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
  const parameters = [owned, `$${after + 2}`, `$${after + 3}`]
  const each = kinds.map((kind) => holdings(kind, form, parameters))
  const tips = `SELECT '${TIPS}', ${tipsText({ reorged: false, refreshing: true })}`
  const sums = form.sums ? kinds.map((kind) => sumsOf(kind, form, parameters)) : []
  const pools = form.sums ? `, ${poolsText(owned)}` : ''
  return `WITH ${listQueryText(chains)}${pools} ${[tips, ...each, ...sums].join(' UNION ALL ')}`
}

const texts = new Map<string, string>()

/** Parses a row of `PortfolioRows`. */
export const parseHolding = (line: string): Holding => {
  const at = line.indexOf(UNIT)
  const [nth, chainId = '', id = '', token = '', rate, claimable, ...rest] = line.slice(0, at).split(',')
  const feeRate = parseRate(rate)
  const found = { wallet: Number(nth) - 1, chainId, id, token, feeRate, isClaimable: claimable === 't' }
  return { ...found, figures: rest.map(BigInt), text: line }
}

type PortfolioQuery = {
  readonly wallets: readonly Address[]
  /** The chains, with the render key whose texts may be served, and how their protocol rounds withdrawals. */
  readonly chains: readonly (Pick<ListQuery, 'chainId' | 'renderKey'> & { readonly roundsCapitalUp: boolean })[]
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
   * those that can be claimed before the others, and, if wanted, the sums over all. `parseHolding` parses the rows. The
   * wallets must be distinct. Throws `service_unavailable` when the database is out of reach.
   */
  async of({ wallets, chains, activeOnly, include, limit, sums }: PortfolioQuery) {
    const queries = chains.map((chain) => ({ ...start, ...chain }))
    const [first, second] = wallets
    const isOne = first !== undefined && second === undefined
    const ofChains = listQueryValues(queries, bounds.asc)
    const roundUp = chains.flatMap(({ chainId, roundsCapitalUp }) => (roundsCapitalUp ? [chainId] : []))
    const values = [...ofChains, isOne ? bytes(first) : addresses(wallets), limit, `{${roundUp.join()}}`]
    const rows = await readTexts(database, (columns) => {
      const name = ['portfolio', activeOnly, isOne, queries.length, columns, sums, ...include].join(' ')
      const text =
        texts.get(name) ?? textFor(queries.length, ofChains.length, isOne, { activeOnly, include, columns, sums })
      texts.set(name, text)
      return { name, text, values }
    })
    const found = new Map<string | null | undefined, string[]>([TIPS, SUMS, ...kinds].map((kind) => [kind, []]))
    for (const [kind, text] of rows) if (text != null) found.get(kind)?.push(text)
    const of = (kind: string): readonly string[] => found.get(kind) ?? []
    return { tips: parseTips(of(TIPS)[0]), holdings: perKind(of), sums: of(SUMS).map(parseSums) }
  },
})

import type { Address } from 'viem'
import { type Kind, kinds } from '../protocol/kinds.ts'
import { bytes, isActive, isClaimable } from './listing-filters.ts'
import { addresses, bounds, type Walk, walkText, walkValues } from './listings.ts'
import type { Database } from './pool.ts'
import { UNIT } from './rendering.ts'
import { asOneText, observedJoins, RECORD, rowSql, tables, withColumnsWhereNeeded } from './row-query.ts'
import { parseTips, type Tip, tipsText } from './tips.ts'

/** What a wallet has of one kind: a row (see `row-query.ts`), and the figures that totals are made of. */
export type Holding = {
  /** The wallet's place among those asked for, from 0. */
  readonly wallet: number
  readonly chainId: string
  readonly id: string
  /** In hex; empty while the row's event is not observed yet. */
  readonly token: string
  /** As `figures` names them, in the token's units. */
  readonly figures: readonly bigint[]
  readonly text: string
}

export type PortfolioRows = {
  readonly tips: readonly Tip[]
  readonly holdings: Readonly<Record<Kind, readonly Holding[]>>
}

export type Portfolios = {
  /**
   * What wallets have, newest first, at most `limit` of each kind a wallet and chain, what can be claimed before the rest; as of one moment.
   * The wallets are all different. Throws `service_unavailable` when the database is out of reach.
   */
  of(asked: {
    readonly wallets: readonly Address[]
    /** The chains, each with the key of the texts that may be served. */
    readonly chains: readonly Pick<Walk, 'chainId' | 'renderKey'>[]
    readonly activeOnly: boolean
    readonly limit: number
  }): Promise<PortfolioRows>
}

const isWithdrawable = 'e.settled_at > 0 AND NOT s.withdrawn'

/** Of each kind, as expressions over f, s and e; what cannot be claimed is 0. */
const figures = {
  position: {
    notional: 'f.notional',
    premiumPaid: 'f.premium_paid',
    payout: `CASE WHEN ${isClaimable.position} THEN s.payout_amount ELSE 0 END`,
  },
  deposit: {
    deposited: 'CASE WHEN s.withdrawn THEN 0 ELSE f.amount END',
    premiums: 'coalesce(s.pending, 0)',
    // The deposit's part of what payouts leave of the pool, by shares, rounded down as the protocol does.
    capital: `CASE WHEN ${isWithdrawable} THEN coalesce(div((e.total_liquidity - e.total_max_payout) * f.shares, (SELECT nullif(sum(of_event.shares), 0)
      FROM deposits of_event WHERE of_event.chain_id = f.chain_id AND of_event.event_id = f.event_id)), 0) ELSE 0 END`,
  },
  event: { creatorEarnings: 'coalesce(e.creator_earnings, 0)' },
} as const satisfies Readonly<Record<Kind, Readonly<Record<string, string>>>>

type Figure = { [K in Kind]: keyof (typeof figures)[K] }[Kind]

const namesOf = (kind: Kind): readonly Figure[] => Object.keys(figures[kind]) as Figure[]

/** The names of each kind's figures, in the order a holding has them. */
export const figureNames: Readonly<Record<Kind, readonly Figure[]>> = {
  event: namesOf('event'),
  deposit: namesOf('deposit'),
  position: namesOf('position'),
}

const holdings = (kind: Kind, activeOnly: boolean, columns: boolean, [owned, limit]: readonly string[]): string => {
  const { facts, owner } = tables[kind]
  const head = ['owned.nth', 'f.chain_id', 'f.id', `encode(e.payment_token, 'hex')`, ...Object.values(figures[kind])]
  const each = `SELECT f.id, f.block_timestamp, ${rowSql(kind, { head, columns })} AS row
    FROM (SELECT *, walk.render_key FROM ${facts}) f ${observedJoins(kind)} WHERE f.chain_id = walk.chain_id AND f.${owner} = owned.by AND f.block_number <= walk.up_to ${activeOnly ? `AND ${isActive[kind]}` : ''}
    ORDER BY coalesce(${isClaimable[kind]}, false) DESC, f.id DESC LIMIT ${limit}`
  return asOneText(`SELECT f.row FROM walk CROSS JOIN ${owned}
    CROSS JOIN LATERAL (${each}) f ORDER BY owned.nth, f.block_timestamp DESC, walk.chain_id, f.id DESC`)
}

const start = { after: null, upTo: null, now: null, rollback: null } as const
const anyWalk = { ...start, chainId: 8453, renderKey: 0n } as const

const textFor = (chains: number, isOne: boolean, activeOnly: boolean, columns: boolean): string => {
  const after = walkValues(
    Array.from({ length: chains }, () => anyWalk),
    bounds.asc,
  ).length
  // A general plan expects many rows of an array, and would look too dear to be used for one wallet.
  const owned = isOne
    ? `(VALUES ($${after + 1}::bytea, 1)) AS owned (by, nth)`
    : `unnest($${after + 1}::bytea[]) WITH ORDINALITY AS owned (by, nth)`
  const each = kinds.map((kind) => holdings(kind, activeOnly, columns, [owned, `$${after + 2}`]))
  return `WITH ${walkText(chains)} SELECT ${tipsText}, ${each.join(', ')}`
}

const texts = new Map<string, string>()

const parse = (line: string): Holding => {
  const at = line.indexOf(UNIT)
  const [nth, chainId = '', id = '', token = '', ...rest] = line.slice(0, at).split(',')
  return { wallet: Number(nth) - 1, chainId, id, token, figures: rest.map(BigInt), text: line }
}

const parseAll = (lines: string | null | undefined): Holding[] => (lines ? lines.split(RECORD).map(parse) : [])

/** Opens the portfolios of a database; nothing is asked yet. However many wallets are asked for, it is one statement. */
export const createPortfolios = (database: Pick<Database, 'rows'>): Portfolios => ({
  async of({ wallets, chains, activeOnly, limit }) {
    const walks = chains.map((chain) => ({ ...start, ...chain }))
    const [first, second] = wallets
    const isOne = first !== undefined && second === undefined
    const values = [...walkValues(walks, bounds.asc), isOne ? bytes(first) : addresses(wallets), limit]
    const read = async (columns: boolean): Promise<(string | null)[]> => {
      const name = ['portfolio', activeOnly, isOne, walks.length, columns].join(' ')
      const text = texts.get(name) ?? textFor(walks.length, isOne, activeOnly, columns)
      texts.set(name, text)
      const [row = []] = await database.rows({ name, text, values })
      return row
    }
    const [tips = null, ...found] = await withColumnsWhereNeeded(read)
    const [event = [], deposit = [], position = []] = found.map(parseAll)
    return { tips: parseTips(tips), holdings: { event, deposit, position } }
  },
})

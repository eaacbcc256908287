import type { Address } from 'viem'
import type { ChainId } from '../protocol/chains.ts'
import { isActive, isClaimable } from './listing-filters.ts'
import { addresses, bounds, walkText, walkValues } from './listings.ts'
import type { Database } from './pool.ts'
import { type Kind, kinds } from './progress.ts'
import { asOneText, joinedTo, RECORD, rowText, tables, UNIT } from './row-text.ts'
import { parseTips, type Tip, tipsText } from './tips.ts'

/** What a wallet has of one kind: a row as it leaves but for its blanks (see `row-text.ts`), and the figures that totals are made of. */
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
    readonly chainIds: readonly ChainId[]
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
    capital: `CASE WHEN ${isWithdrawable} THEN div((e.total_liquidity - e.total_max_payout) * f.shares, (SELECT sum(of_event.shares)
      FROM deposits of_event WHERE of_event.chain_id = f.chain_id AND of_event.event_id = f.event_id)) ELSE 0 END`,
  },
  event: { creatorEarnings: 'coalesce(e.creator_earnings, 0)' },
} as const satisfies Readonly<Record<Kind, Readonly<Record<string, string>>>>

type Figure = { [K in Kind]: keyof (typeof figures)[K] }[Kind]

/** The names of a kind's figures, in the order a holding has them. */
export const figuresOf = (kind: Kind): readonly Figure[] => Object.keys(figures[kind]) as Figure[]

const holdings = (kind: Kind, activeOnly: boolean, [wallets, limit]: readonly string[]): string => {
  const { facts, owner } = tables[kind]
  const head = ['owned.nth', 'f.chain_id', 'f.id', `encode(e.payment_token, 'hex')`, ...Object.values(figures[kind])]
  const each = `SELECT f.id, f.block_timestamp, ${rowText(kind, head)} AS row FROM ${facts} f ${joinedTo(kind)}
    WHERE f.chain_id = walk.chain_id AND f.${owner} = owned.by AND f.block_number <= walk.up_to ${activeOnly ? `AND ${isActive[kind]}` : ''}
    ORDER BY coalesce(${isClaimable[kind]}, false) DESC, f.id DESC LIMIT ${limit}`
  return asOneText(`SELECT f.row FROM walk CROSS JOIN unnest(${wallets}::bytea[]) WITH ORDINALITY AS owned (by, nth)
    CROSS JOIN LATERAL (${each}) f ORDER BY owned.nth, f.block_timestamp DESC, walk.chain_id, f.id DESC`)
}

const anyWalk = { chainId: 8453, after: null, upTo: null, now: null, rollback: null } as const

const textFor = (chains: number, activeOnly: boolean): string => {
  const after = walkValues(
    Array.from({ length: chains }, () => anyWalk),
    bounds.asc,
  ).length
  const places = [`$${after + 1}`, `$${after + 2}`]
  return `WITH ${walkText(chains)} SELECT ${tipsText}, ${kinds.map((kind) => holdings(kind, activeOnly, places)).join(', ')}`
}

/** By how many chains are asked for. */
const statements = {
  active: [1, 2].map((chains) => textFor(chains, true)),
  all: [1, 2].map((chains) => textFor(chains, false)),
} as const

const parse = (line: string): Holding => {
  const at = line.indexOf(UNIT)
  const [nth, chainId = '', id = '', token = '', ...rest] = line.slice(0, at).split(',')
  return { wallet: Number(nth) - 1, chainId, id, token, figures: rest.map(BigInt), text: line }
}

const parseAll = (lines: string | null | undefined): Holding[] => (lines ? lines.split(RECORD).map(parse) : [])

/** Opens the portfolios of a database; nothing is asked yet. However many wallets are asked for, it is one statement. */
export const createPortfolios = (database: Database): Portfolios => ({
  async of({ wallets, chainIds, activeOnly, limit }) {
    const shape = activeOnly ? 'active' : 'all'
    const walks = chainIds.map((chainId) => ({ ...anyWalk, chainId }))
    const values = [...walkValues(walks, bounds.asc), addresses(wallets), limit]
    const text = statements[shape][walks.length - 1] ?? textFor(walks.length, activeOnly)
    const [row] = await database.rows({ name: `portfolio ${shape} ${walks.length}`, text, values })
    const [tips = null, ...texts] = row ?? []
    const [event = [], deposit = [], position = []] = texts.map(parseAll)
    return { tips: parseTips(tips), holdings: { event, deposit, position } }
  },
})

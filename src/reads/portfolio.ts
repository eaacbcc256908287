import type { Address } from 'viem'
import type { z } from 'zod'
import { figureNames, type Holding, type PortfolioRows } from '../db/portfolios.ts'
import { unavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/kinds.ts'
import { kinds } from '../protocol/kinds.ts'
import type { Token } from '../protocol/tokens.ts'
import { behind } from './consistency.ts'
import type { Freshness } from './freshness.ts'
import { isStale, lagSecondsOf, refreshingOf } from './index-lag.ts'
import { rowsOf } from './list-rows.ts'
import { chainsOf } from './listing-resource.ts'
import { claims, type Portfolio } from './portfolio-records.ts'
import type { Sources } from './read.ts'

type PortfolioRecord = z.output<typeof Portfolio>
type ChainPart = PortfolioRecord['chains'][number]
type Claimable = PortfolioRecord['claimables'][number]

/** Rows of one kind that a wallet gets of a chain; there are lists for more. */
const MAX_HELD = 1_000

/** A holding, and its row as it leaves. */
type Held = { readonly holding: Holding; readonly row: string }

/** What a wallet has. */
type Own = Readonly<Record<Kind, Held[]>>

const chainPart = (sources: Sources, chainId: ChainId, { tips }: PortfolioRows, isWhole: boolean): ChainPart => {
  const tip = tips.find((it) => it.chainId === chainId)
  if (tip === undefined) {
    return {
      chainId,
      status: 'unavailable',
      blockNumber: null,
      blockHash: null,
      blockTimestamp: null,
      lagSeconds: null,
    }
  }
  const lagSeconds = lagSecondsOf(tip)
  const { number, hash, timestamp } = tip.block
  const status = isWhole && !isStale(lagSeconds, sources.maxLagSeconds) ? 'ok' : 'stale'
  return {
    chainId,
    status,
    blockNumber: Number(number),
    blockHash: hash,
    blockTimestamp: Number(timestamp),
    lagSeconds,
  }
}

/** A token's amounts over all that a wallet has in it. */
type Total = {
  readonly chainId: ChainId
  readonly token: Token
  readonly sums: Map<(typeof allFigures)[number], bigint>
}

const allFigures = (['position', 'deposit', 'event'] as const).flatMap((kind) => figureNames[kind])

/** The total of a token that no holding was added to, by a row that shows it. */
const emptyTotal = (row: string): Total => {
  const { chainId, token, symbol, decimals } = JSON.parse(row)
  return { chainId, token: { token, symbol, decimals }, sums: new Map(allFigures.map((name) => [name, 0n])) }
}

const isClaim = (figure: string): figure is keyof typeof claims => figure in claims

/** The totals a token, and what can be claimed, of what a wallet has. */
const summed = (own: Own): { totals: object[]; claimables: Claimable[] } => {
  const totals = new Map<string, Total>()
  const claimables: Claimable[] = []
  for (const kind of kinds) {
    const names = figureNames[kind]
    for (const held of own[kind]) {
      const { chainId: chain, id, token: hex, figures } = held.holding
      // The row alone knows its token while its event is not observed yet.
      const key = `${chain} ${hex === '' ? JSON.parse(held.row).token.slice(2).toLowerCase() : hex}`
      const total = totals.get(key) ?? emptyTotal(held.row)
      totals.set(key, total)
      for (let at = 0; at < names.length; at += 1) {
        const [figure, amount = 0n] = [names[at], figures[at]]
        if (figure === undefined || amount === 0n) continue
        total.sums.set(figure, (total.sums.get(figure) ?? 0n) + amount)
        if (!isClaim(figure)) continue
        const { chainId, token } = total
        const claim = claims[figure]
        const build = { method: 'POST', path: claim.path, body: { chainId, [claim.id]: Number(id) } } as const
        claimables.push({ kind: claim.kind, chainId, id: Number(id), ...token, amount: amount.toString(), build })
      }
    }
  }
  return {
    totals: [...totals.values()].map(({ chainId, token, sums }) => ({
      ...{ chainId, ...token },
      ...Object.fromEntries([...sums].map(([name, amount]) => [name, amount.toString()])),
    })),
    claimables,
  }
}

/** One wallet's record as JSON. */
const recordOf = (wallet: Address, chains: readonly ChainPart[], own: Own): string => {
  const rows = (kind: Kind): string => `[${own[kind].map(({ row }) => row).join()}]`
  const { totals, claimables } = summed(own)
  const isCut = kinds.some((kind) =>
    chains.some(
      ({ chainId }) => own[kind].filter(({ holding }) => holding.chainId === String(chainId)).length >= MAX_HELD,
    ),
  )
  const members = [
    `"wallet":"${wallet}","chains":${JSON.stringify(chains)}`,
    `"positions":${rows('position')},"deposits":${rows('deposit')},"events":${rows('event')}`,
    `"totals":${JSON.stringify(totals)},"claimables":${JSON.stringify(claimables)},"complete":${!isCut}`,
  ]
  return `{${members.join()}}`
}

/** Portfolios as JSON, and where they come from. */
export type Portfolios = {
  readonly records: readonly string[]
  readonly freshness: Freshness
  /** False when the chain was asked for a part of them. */
  readonly isIndexed: boolean
  /** Chains whose figures are incomplete, because a rollback deleted observations. */
  readonly refreshing: readonly ChainId[]
}

/**
 * What wallets have, in their order. Throws `service_unavailable` when the database is out of reach, or none of the chains is indexed
 * yet, or the one is behind `atLeast`.
 */
export const portfoliosOf = async (
  sources: Sources,
  asked: {
    readonly wallets: readonly Address[]
    readonly chainIds?: readonly ChainId[] | undefined
    readonly state?: 'active' | 'all' | undefined
    /** A block of the one chain that the answer must not be older than, whole: a row that cannot be read is no part left out then. */
    readonly atLeast?: bigint | null
  },
): Promise<Portfolios> => {
  const chains = chainsOf(asked.chainIds)
  const { atLeast = null } = asked
  const wallets = [...new Set(asked.wallets)]
  const activeOnly = asked.state !== 'all'
  const walked = chains.map((chainId) => ({ chainId, renderKey: sources.lists.renderer(chainId).key }))
  const found = await sources.lists.portfolios.of({ wallets, chains: walked, activeOnly, limit: MAX_HELD })
  if (found.tips.length === 0) throw unavailable(`chain ${chains.join(' and ')} is not indexed yet`)
  const [only, other] = found.tips
  if (atLeast !== null && only !== undefined && only.block.number < atLeast)
    throw behind(only.chainId, atLeast, only.block)

  const owners = wallets.map((wallet): { readonly wallet: Address; readonly own: Own } => ({
    wallet,
    own: { event: [], deposit: [], position: [] },
  }))
  const unread = new Set<string>()
  let isIndexed = true
  for (const kind of kinds) {
    const holdings = found.holdings[kind]
    const texts = holdings.map(({ text }) => text)
    const onUnread = (at: number): void => void unread.add(holdings[at]?.chainId ?? '')
    const made = await rowsOf(sources, { kind, include: [] }, texts, atLeast === null ? onUnread : undefined)
    isIndexed &&= made.isIndexed
    for (const [at, holding] of holdings.entries()) {
      const row = made.rows[at]
      if (row != null) owners[holding.wallet]?.own[kind].push({ holding, row })
    }
  }
  const parts = chains.map((chainId) => chainPart(sources, chainId, found, !unread.has(String(chainId))))
  const records = new Map(owners.map(({ wallet, own }) => [wallet, recordOf(wallet, parts, own)]))
  const lags = parts.map(({ lagSeconds }) => lagSeconds)
  return {
    isIndexed,
    refreshing: refreshingOf(found.tips),
    records: asked.wallets.map((wallet) => records.get(wallet) ?? ''),
    freshness: {
      source: 'database',
      stale: parts.some(({ status }) => status !== 'ok'),
      ...(only !== undefined && other === undefined && { block: only.block }),
      ...(!lags.includes(null) && { lagSeconds: Math.max(...lags.map(Number)) }),
    },
  }
}

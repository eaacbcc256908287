import type { Address } from 'viem'
import type { z } from 'zod'
import type { Block } from '../../chain/rpc/requests.ts'
import type { Holding, PortfolioRows, Sums } from '../../db/queries/portfolios.ts'
import { invalidField, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Kind, kinds, perKind } from '../../protocol/entities.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import { profiles } from '../../protocol/profiles.ts'
import { type Inclusion, shownBy } from '../../protocol/rows.ts'
import { notIndexedYet } from '../freshness/consistency.ts'
import { blockFields, indexFreshness, isStale, type Provenance, refreshingOf } from '../freshness/freshness.ts'
import { requireOneChain } from '../history/at.ts'
import { blockAt } from '../history/block-at.ts'
import { holdingsAt } from '../history/holdings.ts'
import { lagOfTip } from '../lag/lag.ts'
import { chainsOf } from '../lists/resource.ts'
import { createRowTurns, type RowTurns } from '../lists/row-turns.ts'
import { rowsOf } from '../lists/rows.ts'
import type { ListSources } from '../lists/sources.ts'
import { chainOf } from '../read.ts'
import type { Portfolio } from './records.ts'
import { type Claimable, type Holdings, type TokenSums, totalsOf, totalsOfSums } from './totals.ts'

type PortfolioRecord = z.output<typeof Portfolio>
type ChainPart = PortfolioRecord['chains'][number]

/** Most rows per kind and chain in a portfolio. The lists return the rest. */
const MAX_ROWS_PER_KIND = 1_000

const noBlock = { blockNumber: null, blockHash: null, blockTimestamp: null }

const chainPart = (
  sources: ListSources,
  chainId: ChainId,
  { tips }: Pick<PortfolioRows, 'tips'>,
  { isWhole, past }: { readonly isWhole: boolean; readonly past: Block | undefined },
): ChainPart => {
  const tip = tips.find((it) => it.chainId === chainId)
  if (tip === undefined) return { chainId, status: 'unavailable', ...noBlock, lagSeconds: null }
  if (past !== undefined) return { chainId, status: 'ok', ...blockFields(past), lagSeconds: null }
  const lagSeconds = lagOfTip(tip)
  const status = isWhole && !isStale(lagSeconds, sources.maxLagSeconds) ? 'ok' : 'stale'
  return { chainId, status, ...blockFields(tip.block), lagSeconds }
}

/** What the portfolio of a wallet with more rows than the response has is made of in addition. */
type Cut = { readonly sums: readonly TokenSums[]; readonly hasAllClaims: boolean }

/** Makes a wallet's portfolio. */
const recordOf = (
  wallet: Address,
  chains: readonly ChainPart[],
  holdings: Holdings,
  cut: Cut | null,
): PortfolioRecord => {
  const rows = <T>(kind: Kind): T[] => holdings[kind].map(({ row }) => row as T)
  const { totals, claimables } = totalsOf(holdings)
  return {
    wallet,
    chains: [...chains],
    positions: rows('position'),
    deposits: rows('deposit'),
    events: rows('event'),
    totals: cut === null ? totals : totalsOfSums(cut.sums),
    claimables,
    claimablesComplete: cut?.hasAllClaims ?? true,
    complete: cut === null,
  }
}

/** Whether one holding is left out before another: the oldest that cannot be claimed first. */
const isLess = (a: Holding, b: Holding): boolean =>
  a.isClaimable === b.isClaimable ? BigInt(a.row.id) < BigInt(b.row.id) : b.isClaimable

/**
 * At most `limit` holdings of each wallet and chain, in their order, and the wallets that have more. There is at most
 * one more of each.
 */
const cutTo = (holdings: readonly Holding[], limit: number) => {
  const places = new Map<string, Holding[]>()
  for (const holding of holdings) {
    const place = `${holding.wallet} ${holding.row.chainId}`
    const those = places.get(place)
    if (those === undefined) places.set(place, [holding])
    else those.push(holding)
  }
  const cut = [...places.values()].filter(({ length }) => length > limit)
  const leftOut = new Set(cut.map((those) => those.reduce((least, it) => (isLess(it, least) ? it : least))))
  return {
    kept: leftOut.size === 0 ? holdings : holdings.filter((it) => !leftOut.has(it)),
    cutWallets: cut.flatMap(([first]) => (first === undefined ? [] : [first.wallet])),
  }
}

/** Reads the rows of wallets and, if one has more than `maxRows` of a kind on a chain, the sums over all its rows. */
const readRows = async (
  sources: ListSources,
  query: Omit<Parameters<ListSources['lists']['portfolios']['of']>[0], 'limit' | 'sums'>,
  maxRows: number,
  turns: RowTurns,
) => {
  // One row more than the portfolio has shows whether there are others.
  const limit = maxRows + 1
  const read = async (sums: boolean) => {
    const { parse, ...found } = await sources.lists.portfolios.of({ ...query, limit, sums })
    const cut = async (kind: Kind) => {
      const holdings: Holding[] = []
      for await (const part of turns.partsOf(found.holdings[kind]))
        holdings.push(...part.map((cells) => parse(kind, cells)))
      return cutTo(holdings, maxRows)
    }
    const cuts = { event: await cut('event'), deposit: await cut('deposit'), position: await cut('position') }
    const cutWallets = new Set(kinds.flatMap((kind) => [...cuts[kind].cutWallets]))
    return { ...found, holdings: perKind((kind) => cuts[kind].kept), cutWallets }
  }
  const found = await read(false)
  // Rows and sums are of one statement, so that they agree.
  return found.cutWallets.size === 0 ? found : read(true)
}

/**
 * The sums of a wallet with their tokens. `unread` is called with the chain of sums whose token is not known, because
 * their events have not been read yet: they are left out.
 */
const cutOf = async (
  sources: ListSources,
  sums: readonly Sums[],
  maxRows: number,
  unread: (chainId: ChainId) => void,
): Promise<Cut> => {
  const named = sums.map(async (sum): Promise<TokenSums[]> => {
    const { chainId, token } = sum
    if (token === null) {
      unread(chainId)
      return []
    }
    const { lists } = sources
    return [{ ...sum, shownToken: lists.token(chainId, token, sum) ?? (await lists.tokens.ask(chainId, token)) }]
  })
  const claims = new Map<string, number>()
  for (const { kind, chainId, claims: count } of sums) {
    const key = `${kind} ${chainId}`
    claims.set(key, (claims.get(key) ?? 0) + count)
  }
  return {
    sums: (await Promise.all(named)).flat(),
    // Rows that can be claimed come first.
    hasAllClaims: [...claims.values()].every((count) => count <= maxRows),
  }
}

/** The blocks of a moment on the chains; none without a moment. */
const blocksAt = async (
  sources: ListSources,
  chains: readonly ChainId[],
  at: Moment | undefined,
): Promise<ReadonlyMap<ChainId, Block>> => {
  if (at === undefined) return new Map()
  requireOneChain('at', at, chains)
  return new Map(await Promise.all(chains.map(async (id) => [id, await blockAt(sources, id, at)] as const)))
}

export type Portfolios = Provenance & { readonly records: readonly PortfolioRecord[] }

/**
 * Reads the portfolios of wallets, in their order. Throws `service_unavailable` when the database is out of reach, when
 * no chain is indexed yet, and when the one chain is not indexed up to `atLeast`.
 */
export const portfoliosOf = async (
  sources: ListSources,
  asked: {
    readonly wallets: readonly Address[]
    readonly chainIds?: readonly ChainId[] | undefined
    readonly state?: 'active' | 'all' | undefined
    /** What rows show in addition, where their kind can. */
    readonly include?: readonly Inclusion[]
    /** The oldest block that the answer may be as of. With it, a row that cannot be read is an error, not left out. */
    readonly atLeast?: bigint | null
    /** The moment of the past that the answer is as of; the present without one. */
    readonly at?: Moment | undefined
    /** Most rows per kind and chain. */
    readonly maxRows?: number
  },
): Promise<Portfolios> => {
  const chains = chainsOf(asked.chainIds)
  const { atLeast = null, include = [], maxRows = MAX_ROWS_PER_KIND, at } = asked
  const wallets = [...new Set(asked.wallets)]
  const activeOnly = asked.state !== 'all'
  const blocks = await blocksAt(sources, chains, at)
  const queried = chains.map((chainId) => {
    const { roundsCapitalUp } = profiles[chainOf(sources.chains, chainId).deployment.profile]
    const block = blocks.get(chainId)
    return { chainId, roundsCapitalUp, ...(block && { upTo: block.number, now: block.timestamp }) }
  })
  const turns = createRowTurns()
  const isPast = at !== undefined
  const present = { wallets, chains: queried, activeOnly: activeOnly && !isPast, include }
  const found = await readRows(sources, present, maxRows, turns)
  if (isPast && found.cutWallets.size > 0)
    throw invalidField('at', `a wallet has more than ${maxRows} rows of a kind: read its lists with at`)
  if (found.tips.length === 0) throw unavailable(`chain ${chains.join(' and ')} is not indexed yet`)
  const [only] = found.tips
  if (atLeast !== null && only !== undefined && only.block.number < atLeast)
    throw notIndexedYet(only.chainId, atLeast, only.block)

  const owners = wallets.map((wallet): { readonly wallet: Address; readonly holdings: Holdings } => ({
    wallet,
    holdings: { event: [], deposit: [], position: [] },
  }))
  const unread = new Set<ChainId>()
  let isIndexed = true
  for (const kind of kinds) {
    const shown = { kind, include: shownBy(kind, include) }
    for await (const part of turns.partsOf(found.holdings[kind])) {
      const holdings = isPast ? await holdingsAt(sources, { ...shown, activeOnly }, part, blocks) : part
      const onUnread = (at: number): void => {
        const chainId = holdings[at]?.row.chainId
        if (chainId !== undefined) unread.add(chainId)
      }
      const rows = holdings.map(({ row }) => row)
      const made = await rowsOf(sources, shown, rows, {
        unread: atLeast === null && !isPast ? onUnread : undefined,
        blocks: isPast ? blocks : null,
      })
      isIndexed &&= made.isIndexed
      for (const [at, holding] of holdings.entries()) {
        const row = made.rows[at]
        if (row != null) owners[holding.wallet]?.holdings[kind].push({ holding, row })
      }
    }
  }
  const cuts = new Map<Address, Cut>()
  for (const nth of found.cutWallets) {
    const sums = found.sums.filter(({ wallet }) => wallet === nth)
    const wallet = wallets[nth]
    if (wallet !== undefined)
      cuts.set(wallet, await cutOf(sources, sums, maxRows, (chainId) => void unread.add(chainId)))
  }
  const parts = chains.map((chainId) =>
    chainPart(sources, chainId, found, { isWhole: !unread.has(chainId), past: blocks.get(chainId) }),
  )
  const records = new Map<Address, PortfolioRecord>()
  for (const { wallet, holdings } of owners) {
    await turns.wait(kinds.reduce((rows, kind) => rows + holdings[kind].length, 0))
    records.set(wallet, recordOf(wallet, parts, holdings, cuts.get(wallet) ?? null))
  }
  return {
    isIndexed,
    refreshing: refreshingOf(found.tips),
    records: asked.wallets.flatMap((wallet) => records.get(wallet) ?? []),
    freshness: indexFreshness(
      found.tips.map(({ chainId, block }) => blocks.get(chainId) ?? block),
      parts.map(({ lagSeconds }) => lagSeconds),
      parts.some(({ status }) => status !== 'ok'),
    ),
  }
}

/** What a wallet can claim, and from which event. */
export type WalletClaimable = Claimable & { readonly wallet: Address; readonly eventId: number }

/** What wallets can claim, by their portfolios, with the events, and whether these are all claims. */
export const claimablesIn = ({ records }: Pick<Portfolios, 'records'>) => ({
  claimables: records.flatMap(claimsIn),
  isComplete: records.every((it) => it.claimablesComplete),
})

const claimsIn = ({ wallet, claimables, positions, deposits }: PortfolioRecord): readonly WalletClaimable[] => {
  type Member = { readonly chainId: ChainId; readonly id: number; readonly eventId: number }
  const eventOf = (rows: readonly Member[]): ReadonlyMap<string, number> =>
    new Map(rows.map(({ chainId, id, eventId }) => [`${chainId} ${id}`, eventId]))
  const [ofPosition, ofDeposit] = [eventOf(positions), eventOf(deposits)]
  return claimables.map((claim) => {
    const { kind, chainId, id } = claim
    const members = kind === 'payout' ? ofPosition : ofDeposit
    const eventId = kind === 'creator-earnings' ? id : members.get(`${chainId} ${id}`)
    return { wallet: wallet as Address, ...claim, eventId: eventId ?? 0 }
  })
}

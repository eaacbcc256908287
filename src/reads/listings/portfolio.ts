import type { Address } from 'viem'
import type { z } from 'zod'
import { figureNames, type Holding, type PortfolioRows, parseHolding } from '../../db/queries/portfolios.ts'
import { unavailable } from '../../lib/errors.ts'
import { createTurns } from '../../lib/turns.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Kind, kinds } from '../../protocol/entities.ts'
import { profiles } from '../../protocol/profiles.ts'
import { feeOn } from '../../protocol/records.ts'
import { decimal } from '../../protocol/response-fields.ts'
import { type Inclusion, shownBy } from '../../protocol/rows.ts'
import type { Token } from '../../protocol/tokens.ts'
import { notIndexedYet } from '../freshness/consistency.ts'
import { blockFields, indexFreshness, isStale, type Provenance, refreshingOf } from '../freshness/freshness.ts'
import { lagOfTip } from '../lag/lag.ts'
import { chainOf } from '../read.ts'
import { claims, type Portfolio } from './portfolio-records.ts'
import { chainsOf } from './resource.ts'
import { rowsOf } from './rows.ts'
import type { ListSources } from './sources.ts'

type PortfolioRecord = z.output<typeof Portfolio>
type ChainPart = PortfolioRecord['chains'][number]
type Claimable = PortfolioRecord['claimables'][number]

/** Most rows per kind and chain in a portfolio. The lists return the rest. */
const MAX_ROWS_PER_KIND = 1_000

/** Most rows that are handled in one turn of the event loop: it then takes about as long as a page. */
const ROWS_PER_TURN = 250

/** Other requests are handled between two turns of portfolios. */
const turn = createTurns({ restMs: 1 })

/** Makes a function that counts the rows that are handled next, and first waits for a turn when they are too many. */
const pacer = () => {
  let handled = 0
  return async (rows: number): Promise<void> => {
    handled += rows
    if (handled <= ROWS_PER_TURN) return
    await turn()
    handled = rows
  }
}

/** A holding and its rendered row. */
type HeldRow = { readonly holding: Holding; readonly row: string }

/** The rows of a wallet by kind. */
type Holdings = Readonly<Record<Kind, HeldRow[]>>

const noBlock = { blockNumber: null, blockHash: null, blockTimestamp: null }

const chainPart = (sources: ListSources, chainId: ChainId, { tips }: PortfolioRows, isWhole: boolean): ChainPart => {
  const tip = tips.find((it) => it.chainId === chainId)
  if (tip === undefined) return { chainId, status: 'unavailable', ...noBlock, lagSeconds: null }
  const lagSeconds = lagOfTip(tip)
  const status = isWhole && !isStale(lagSeconds, sources.maxLagSeconds) ? 'ok' : 'stale'
  return { chainId, status, ...blockFields(tip.block), lagSeconds }
}

const allFigures = (['position', 'deposit', 'event'] as const).flatMap((kind) => figureNames[kind])

/** An empty total: the sums of a wallet's amounts in the token that a row shows. */
const emptyTotal = (row: string) => {
  const { chainId, token, symbol, decimals }: Token & { readonly chainId: ChainId } = JSON.parse(row)
  return { chainId, token: { token, symbol, decimals }, sums: new Map(allFigures.map((name) => [name, 0n])) }
}

const isClaim = (figure: string): figure is keyof typeof claims => figure in claims

/** The totals per token, and the claimable amounts, of a wallet. */
const totalsOf = (rows: Holdings): { totals: object[]; claimables: Claimable[] } => {
  const totals = new Map<string, ReturnType<typeof emptyTotal>>()
  const claimables: Claimable[] = []
  for (const kind of kinds) {
    const names = figureNames[kind]
    for (const held of rows[kind]) {
      const { chainId: chain, id, token: hex, feeRate, figures } = held.holding
      // Until the event is read for the first time, only the row has the token.
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
        const paid = feeOn(amount, claim.feeRate === null ? 0n : feeRate)
        claimables.push({
          kind: claim.kind,
          chainId,
          id: Number(id),
          ...token,
          amount: decimal(amount),
          ...paid,
          build,
        })
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

/** Joins rows with `+=`, which copies them once, when the body is written. `join` would copy them at every level. */
const joinRows = (rows: readonly HeldRow[]): string => {
  let text = ''
  for (const { row } of rows) text += text === '' ? row : `,${row}`
  return text
}

/** Renders a wallet's portfolio as JSON. */
const recordOf = (wallet: Address, chains: readonly ChainPart[], holdings: Holdings): string => {
  const rows = (kind: Kind): string => `[${joinRows(holdings[kind])}]`
  const { totals, claimables } = totalsOf(holdings)
  const count = (kind: Kind, chainId: ChainId): number =>
    holdings[kind].filter(({ holding }) => holding.chainId === String(chainId)).length
  const isCut = kinds.some((kind) => chains.some(({ chainId }) => count(kind, chainId) >= MAX_ROWS_PER_KIND))
  return `{"wallet":"${wallet}","chains":${JSON.stringify(chains)},"positions":${rows('position')},"deposits":${rows('deposit')},"events":${rows('event')},"totals":${JSON.stringify(totals)},"claimables":${JSON.stringify(claimables)},"complete":${!isCut}}`
}

/** Portfolios as JSON. */
export type Portfolios = Provenance & { readonly records: readonly string[] }

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
  },
): Promise<Portfolios> => {
  const chains = chainsOf(asked.chainIds)
  const { atLeast = null, include = [] } = asked
  const wallets = [...new Set(asked.wallets)]
  const activeOnly = asked.state !== 'all'
  const queried = chains.map((chainId) => {
    const { roundsCapitalUp } = profiles[chainOf(sources.chains, chainId).deployment.profile]
    return { chainId, renderKey: sources.lists.renderer(chainId).key, roundsCapitalUp }
  })
  const found = await sources.lists.portfolios.of({
    ...{ wallets, chains: queried, activeOnly, include, limit: MAX_ROWS_PER_KIND },
  })
  if (found.tips.length === 0) throw unavailable(`chain ${chains.join(' and ')} is not indexed yet`)
  const [only] = found.tips
  if (atLeast !== null && only !== undefined && only.block.number < atLeast)
    throw notIndexedYet(only.chainId, atLeast, only.block)

  const owners = wallets.map((wallet): { readonly wallet: Address; readonly holdings: Holdings } => ({
    wallet,
    holdings: { event: [], deposit: [], position: [] },
  }))
  const unread = new Set<string>()
  const pace = pacer()
  let isIndexed = true
  for (const kind of kinds) {
    const shown = { kind, include: shownBy(kind, include) }
    for (let first = 0; first < found.holdings[kind].length; first += ROWS_PER_TURN) {
      const texts = found.holdings[kind].slice(first, first + ROWS_PER_TURN)
      await pace(texts.length)
      const holdings = texts.map(parseHolding)
      const onUnread = (at: number): void => void unread.add(holdings[at]?.chainId ?? '')
      const made = await rowsOf(sources, shown, texts, atLeast === null ? onUnread : undefined)
      isIndexed &&= made.isIndexed
      for (const [at, holding] of holdings.entries()) {
        const row = made.rows[at]
        if (row != null) owners[holding.wallet]?.holdings[kind].push({ holding, row })
      }
    }
  }
  const parts = chains.map((chainId) => chainPart(sources, chainId, found, !unread.has(String(chainId))))
  const records = new Map<Address, string>()
  for (const { wallet, holdings } of owners) {
    await pace(kinds.reduce((rows, kind) => rows + holdings[kind].length, 0))
    records.set(wallet, recordOf(wallet, parts, holdings))
  }
  return {
    isIndexed,
    refreshing: refreshingOf(found.tips),
    records: asked.wallets.map((wallet) => records.get(wallet) ?? ''),
    freshness: indexFreshness(
      found.tips.map(({ block }) => block),
      parts.map(({ lagSeconds }) => lagSeconds),
      parts.some(({ status }) => status !== 'ok'),
    ),
  }
}

/** What a wallet can claim, and from which event. */
export type WalletClaimable = Claimable & { readonly wallet: Address; readonly eventId: number }

/**
 * Reads what wallets can claim, as their portfolios list it, with the events, and whether these portfolios are complete.
 * Throws as `portfoliosOf` does.
 */
export const claimablesOf = async (
  sources: ListSources,
  chainIds: readonly ChainId[],
  wallets: readonly Address[],
): Promise<{ readonly claimables: readonly WalletClaimable[]; readonly isComplete: boolean }> => {
  const { records } = await portfoliosOf(sources, { wallets, chainIds })
  const portfolios = records.map((record) => JSON.parse(record) as PortfolioRecord)
  return { claimables: portfolios.flatMap(claimablesIn), isComplete: portfolios.every(({ complete }) => complete) }
}

const claimablesIn = ({ wallet, claimables, positions, deposits }: PortfolioRecord): readonly WalletClaimable[] => {
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

import { type Address, getAddress } from 'viem'
import type { z } from 'zod'
import { figureNames, type Holding, type PortfolioRows } from '../db/portfolios.ts'
import type { Kind } from '../db/progress.ts'
import { kinds } from '../db/progress.ts'
import { unavailable } from '../lib/errors.ts'
import { type ChainId, chainIds } from '../protocol/chains.ts'
import { behind } from './consistency.ts'
import type { Freshness } from './freshness.ts'
import { isStale, lagSecondsOf } from './index-lag.ts'
import { chainsOf } from './listing-resource.ts'
import { claims, type Portfolio } from './portfolio-records.ts'
import type { Sources } from './read.ts'
import { rowsOf } from './rows.ts'
import type { Token } from './tokens.ts'

type PortfolioRecord = z.output<typeof Portfolio>
type ChainPart = PortfolioRecord['chains'][number]
type Claimable = PortfolioRecord['claimables'][number]

/** Rows of one kind that a wallet gets of a chain; there are lists for more. */
const MAX_HELD = 1_000

/** A holding whose row is made. */
type Held = Holding & { readonly kind: Kind; readonly row: string }

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

/** The token of a holding; of one that is not observed yet, as its row says. */
const tokenOf = (sources: Sources, { chainId, token, row }: Held): Token => {
  const address: Address = token === '' ? getAddress(JSON.parse(row).token) : `0x${token}`
  const known = chainIds.find((id) => String(id) === chainId)
  const found = known && sources.lists.tokens.known(known, address)
  return found ?? { token: getAddress(address), symbol: null, decimals: null }
}

const isClaim = (figure: string): figure is keyof typeof claims => figure in claims

/** The totals a token, and what can be claimed, of a wallet's holdings. */
const summed = (sources: Sources, held: readonly Held[]): { totals: object[]; claimables: Claimable[] } => {
  const totals = new Map<string, { readonly of: Token & { chainId: number }; readonly sums: Map<string, bigint> }>()
  const claimables: Claimable[] = []
  for (const holding of held) {
    const token = tokenOf(sources, holding)
    const chainId = chainIds.find((known) => String(known) === holding.chainId) ?? 8453
    const key = `${chainId} ${token.token}`
    const total = totals.get(key) ?? { of: { chainId, ...token }, sums: new Map(allFigures.map((name) => [name, 0n])) }
    totals.set(key, total)
    for (const [at, figure] of figureNames[holding.kind].entries()) {
      const amount = holding.figures[at] ?? 0n
      total.sums.set(figure, (total.sums.get(figure) ?? 0n) + amount)
      if (amount === 0n || !isClaim(figure)) continue
      const { kind, path, id } = claims[figure]
      const build = { method: 'POST', path, body: { chainId, [id]: Number(holding.id) } } as const
      claimables.push({ kind, chainId, id: Number(holding.id), ...token, amount: amount.toString(), build })
    }
  }
  return {
    totals: [...totals.values()].map(({ of, sums }) => ({
      ...of,
      ...Object.fromEntries([...sums].map(([name, amount]) => [name, amount.toString()])),
    })),
    claimables,
  }
}

const allFigures = (['position', 'deposit', 'event'] as const).flatMap((kind) => figureNames[kind])

/** One wallet's record as JSON. */
const recordOf = (sources: Sources, wallet: Address, chains: readonly ChainPart[], held: readonly Held[]): string => {
  const rows = (kind: Kind): string => `[${held.filter((it) => it.kind === kind).map(({ row }) => row)}]`
  const { totals, claimables } = summed(sources, held)
  const isCut = kinds.some((kind) =>
    chains.some(
      ({ chainId }) => held.filter((it) => it.kind === kind && it.chainId === String(chainId)).length >= MAX_HELD,
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
  const found = await sources.lists.portfolios.of({ wallets, chainIds: chains, activeOnly, limit: MAX_HELD })
  if (found.tips.length === 0) throw unavailable(`chain ${chains.join(' and ')} is not indexed yet`)
  const [only, other] = found.tips
  if (atLeast !== null && only !== undefined && only.block.number < atLeast)
    throw behind(only.chainId, atLeast, only.block)

  const held = new Map<number, Held[]>(wallets.map((_, at) => [at, []]))
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
      if (row != null) held.get(holding.wallet)?.push({ ...holding, kind, row })
    }
  }
  const parts = chains.map((chainId) => chainPart(sources, chainId, found, !unread.has(String(chainId))))
  const records = new Map(wallets.map((wallet, at) => [wallet, recordOf(sources, wallet, parts, held.get(at) ?? [])]))
  const lags = parts.map(({ lagSeconds }) => lagSeconds)
  return {
    isIndexed,
    records: asked.wallets.map((wallet) => records.get(wallet) ?? ''),
    freshness: {
      source: 'database',
      stale: parts.some(({ status }) => status !== 'ok'),
      ...(only !== undefined && other === undefined && { block: only.block }),
      ...(!lags.includes(null) && { lagSeconds: Math.max(...lags.map(Number)) }),
    },
  }
}

import type { Address } from 'viem'
import type { Freshness } from '../freshness/freshness.ts'
import type { ListSources } from '../lists/sources.ts'
import { claimablesIn, type Portfolios, portfoliosOf, type WalletClaimable } from './portfolio.ts'

/*
 * Portfolios of many wallets are read a few wallets at a time, so that one request does not keep the database, the
 * memory and the event loop from the others. Each portfolio names the blocks that it is as of.
 */

/** Most wallets that are read by one statement: with some hundred rows each, it takes about as long as a page. */
const WALLETS_AT_ONCE = 4

const readParts = async <T>(
  wallets: readonly Address[],
  read: (wallets: readonly Address[]) => Promise<T>,
): Promise<readonly T[]> => {
  const parts: T[] = []
  for (let first = 0; first < wallets.length; first += WALLETS_AT_ONCE)
    parts.push(await read(wallets.slice(first, first + WALLETS_AT_ONCE)))
  return parts
}

/** The freshness of two parts together: that of the older one, with the greater lag if both are known. */
const older = (a: Freshness, b: Freshness): Freshness => {
  const { lagSeconds: _, ...oldest } = (a.block?.number ?? 0n) <= (b.block?.number ?? 0n) ? a : b
  const isKnown = a.lagSeconds !== undefined && b.lagSeconds !== undefined
  return {
    ...oldest,
    stale: a.stale || b.stale,
    ...(isKnown && { lagSeconds: Math.max(a.lagSeconds, b.lagSeconds) }),
  }
}

/** Reads the portfolios of wallets, in their order. Throws as `portfoliosOf` does. */
export const portfoliosInParts = async (
  sources: ListSources,
  asked: Parameters<typeof portfoliosOf>[1],
): Promise<Portfolios> => {
  const unique = [...new Set(asked.wallets)]
  const parts = await readParts(unique, (wallets) => portfoliosOf(sources, { ...asked, wallets }))
  const records = parts.flatMap((part) => part.records)
  const recordOf = new Map(records.map((record) => [record.wallet, record]))
  return {
    isIndexed: parts.every(({ isIndexed }) => isIndexed),
    refreshing: [...new Set(parts.flatMap(({ refreshing }) => refreshing))],
    records: asked.wallets.flatMap((wallet) => recordOf.get(wallet) ?? []),
    freshness: parts.map(({ freshness }) => freshness).reduce(older),
  }
}

/**
 * Reads what wallets can claim, as their portfolios list it, with the events, and whether these are all claims. Throws
 * as `portfoliosOf` does.
 */
export const claimablesOf = async (
  sources: ListSources,
  { wallets, ...asked }: Pick<Parameters<typeof portfoliosOf>[1], 'wallets' | 'chainIds'>,
): Promise<{ readonly claimables: readonly WalletClaimable[]; readonly isComplete: boolean }> => {
  const parts = await readParts([...new Set(wallets)], async (part) =>
    claimablesIn(await portfoliosOf(sources, { ...asked, wallets: part })),
  )
  return {
    claimables: parts.flatMap(({ claimables }) => claimables),
    isComplete: parts.every(({ isComplete }) => isComplete),
  }
}

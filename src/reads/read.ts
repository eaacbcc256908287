import type { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import type { Queries } from '../db/query.ts'
import type { SettlementQueries } from '../db/settlements.ts'
import type { Vitals } from '../db/vitals.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Changes, Resource } from './changes.ts'
import type { Checks } from './checks.ts'
import type { Freshness } from './freshness.ts'
import type { Lists } from './lists.ts'

/** What the reads are answered from. */
export type Sources = {
  readonly chains: ReadonlyMap<ChainId, Chain>
  readonly queries: Queries
  readonly lists: Lists
  readonly changes: Changes
  readonly settlements: SettlementQueries
  /** How a chain's index is. Throws `service_unavailable` when the database is out of reach. */
  readonly vitals: (chainId: ChainId) => Promise<Vitals>
  /** What the configuration was held against, and what came of it. */
  readonly checks: Pick<Checks, 'of'>
  /** How far an index may be behind its chain and still count as in reach, in seconds. */
  readonly maxLagSeconds: number
}

/** Where a page of ids ends. */
export type PageMeta = { readonly limit: number; readonly hasMore: boolean; readonly nextCursor: string | null }

/** An answer: its data, or what does not exist, and where that was learned. */
export type Answer<D> = { readonly freshness: Freshness } & (
  | { readonly data: D; readonly meta?: PageMeta }
  | { readonly missing: string }
)

/** A parsed request: path and query parameters by name, and the chain, which is the default one when the request has none. */
export type Input<P, Q> = P & Q & { readonly chainId: ChainId }

/** A GET of the API. */
export type Read<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  D extends z.ZodType = z.ZodType,
> = {
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly params: P
  readonly query: Q
  /** The payload. */
  readonly data: D
  /** True when the answer may come in pages. */
  readonly paged: boolean
  /** What a 404 says; absent when what is read always exists. */
  missing?(input: Input<z.output<P>, z.output<Q>>): string
  /** What an answer depends on, where the index is told of all that changes it; absent where it is not. */
  resource?(input: Input<z.output<P>, z.output<Q>>): Resource
  /** When what was read had its end (Unix seconds; 0 for not yet), where it hardly changes from then on. */
  settledAt?(data: z.output<D>): number
  /** Throws `service_unavailable` when no source of the read is in reach, `upstream_error` when a node refuses it. */
  answer(sources: Sources, input: Input<z.output<P>, z.output<Q>>): Promise<Answer<z.output<D>>>
}

/** The chain's gateway; the map holds every supported chain. */
export const chainOf = ({ chains }: Pick<Sources, 'chains'>, chainId: ChainId): Chain => {
  const chain = chains.get(chainId)
  if (chain === undefined) throw unavailable(`chain ${chainId} is not configured`)
  return chain
}

/**
 * Asks the preferred source and, when that one is out of reach, the other, whose answer is then marked stale. When neither
 * answers, the preferred one's fault is thrown.
 */
export const firstOf = async <D>(
  preferred: () => Promise<Answer<D>>,
  other: () => Promise<Answer<D>>,
): Promise<Answer<D>> => {
  try {
    return await preferred()
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    try {
      const answer = await other()
      return { ...answer, freshness: { ...answer.freshness, stale: true } }
    } catch (second) {
      throw isUnavailable(second) ? fault : second
    }
  }
}

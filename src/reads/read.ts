import { z } from 'zod'
import type { Chain } from '../chain/chain.ts'
import type { Queries } from '../db/queries/entities.ts'
import type { History } from '../db/queries/history.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import { type ChainId, PathChainId } from '../protocol/chains.ts'
import type { Kind } from '../protocol/entities.ts'
import { Address20, Bytes32, PathInteger } from '../protocol/fields/request-fields.ts'
import type { Resource } from './cache/resources.ts'
import type { Freshness } from './freshness/freshness.ts'

/** The chains of a process by their ids. */
export type Chains = ReadonlyMap<ChainId, Chain>

/** The sources of single records and of lists of ids. */
export type ReadSources = {
  readonly chains: Chains
  readonly queries: Queries
  readonly history: History
  /** What the index adds to a record of the chain. */
  readonly indexed: ReadIndexed
  /** The largest lag of an index that still answers as the preferred source, in seconds. */
  readonly maxLagSeconds: number
}

/**
 * Reads what the index adds to a record: fields that rows of lists have. Null when the index does not have the record,
 * is out of reach or too slow.
 */
export type ReadIndexed = (kind: Kind, chainId: ChainId, id: number) => Promise<object | null>

/** The pagination fields of a page of ids. */
export type PageMeta = { readonly limit: number; readonly hasMore: boolean; readonly nextCursor: string | null }

/**
 * An answer: its data, or the sentence of a 404, and the block and source it comes from. One that `isPast` was asked for as
 * of that block. One that `isPartial` lacks something of the index that it may have later, without a change of the record.
 */
export type Answer<D> = {
  readonly freshness: Freshness
  readonly isPast?: boolean
  readonly isPartial?: boolean
} & ({ readonly data: D; readonly meta?: PageMeta } | { readonly missing: string })

/** The schemas of path parameters by name. */
const parameters = {
  chainId: PathChainId,
  id: PathInteger,
  eventId: PathInteger,
  addr: Address20,
  proposalId: Bytes32,
} as const

type NamesIn<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? Name
    : never

/** A parsed request: path and query parameters by name. The chain is the default one when the request names none. */
export type Input<Path extends string = string, Q = unknown> = Q & {
  readonly [Name in keyof typeof parameters & NamesIn<Path>]: z.output<(typeof parameters)[Name]>
} & { readonly chainId: ChainId }

/** Makes the schema of a path's parameters. */
export const paramsOf = (path: string): z.ZodObject =>
  z.object(Object.fromEntries(Object.entries(parameters).filter(([name]) => path.split('/').includes(`:${name}`))))

/** A `GET` endpoint. */
export type Read<I extends Input = Input, D extends z.ZodType = z.ZodType> = {
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  /** The schema of the payload. */
  readonly data: D
  /** Whether the answer may be paginated. */
  readonly paged: boolean
  /** The message of a 404; absent when the resource always exists. */
  missing?(input: I): string
  /** The index entries that an answer depends on; absent when the answer can change without a change of the index. */
  resource?(input: I): Resource
  /** When the resource was settled (Unix seconds; 0 for not yet). From then on it hardly changes. */
  settledAt?(data: z.output<D>): number
  /** Throws `service_unavailable` when no source is in reach, and `upstream_error` when a node rejects the read. */
  answer(sources: ReadSources, input: I): Promise<Answer<z.output<D>>>
}

/** Gets a configured chain. Throws `service_unavailable` for any other chain. */
export const chainOf = (chains: Chains, chainId: ChainId): Chain => {
  const chain = chains.get(chainId)
  if (chain === undefined) throw unavailable(`chain ${chainId} is not configured`)
  return chain
}

/**
 * Reads from the preferred source and, when it is out of reach, from the fallback, whose answer is marked stale. When
 * both are out of reach, the error of the preferred source is thrown.
 */
export const withFallback = async <D>(
  preferred: () => Promise<Answer<D>>,
  fallback: () => Promise<Answer<D>>,
): Promise<Answer<D>> => {
  try {
    return await preferred()
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    try {
      const answer = await fallback()
      return { ...answer, freshness: { ...answer.freshness, stale: true } }
    } catch (second) {
      throw isUnavailable(second) ? fault : second
    }
  }
}

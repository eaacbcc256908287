import type { Chain } from '../../chain/chain.ts'
import type { Queries } from '../../db/queries/entities.ts'
import type { Tip } from '../../db/queries/tips.ts'
import type { StoredBlock } from '../../db/stored.ts'
import { nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { secondsBehind } from '../lag/lag.ts'

/** The source of an answer, and the block that it is as of. */
export type Freshness = {
  readonly source: 'chain' | 'database' | 'static'
  /** Absent for data that no block changes, and for answers of several chains. */
  readonly block?: StoredBlock
  /** True for an answer of the fallback, or of an index that lags: the preferred source is out of reach. */
  readonly stale: boolean
  /** The lag of the index in seconds, when it answered as the preferred source. */
  readonly lagSeconds?: number
}

/** Where a list or a portfolio comes from. */
export type Provenance = {
  readonly freshness: Freshness
  /** False when some rows were read from the chain. */
  readonly isIndexed: boolean
  /** The chains whose rows may be missing, wrong or incomplete, because a rollback deleted observations. */
  readonly refreshing: readonly ChainId[]
}

/** Makes the response headers that report an answer's source and block. */
export const freshnessHeaders = ({ source, block, stale, lagSeconds }: Freshness): Record<string, string> => ({
  'x-data-source': source,
  ...(block && {
    'x-block-number': block.number.toString(),
    'x-block-hash': block.hash,
    'x-block-timestamp': block.timestamp.toString(),
  }),
  ...(lagSeconds !== undefined && { 'x-index-lag': lagSeconds.toString() }),
  ...(stale && { 'x-stale': '1' }),
})

/** The freshness of data of the index: with the block if there is one chain, and the greatest lag if all are known. */
export const indexFreshness = (
  [only, ...others]: readonly StoredBlock[],
  lags: readonly (number | null)[],
  stale: boolean,
): Freshness => ({
  source: 'database',
  stale,
  ...(only !== undefined && others.length === 0 && { block: only }),
  ...(!lags.includes(null) && { lagSeconds: Math.max(...lags.map(Number)) }),
})

/** A block as fields of a response. */
export const blockFields = ({ number, hash, timestamp }: StoredBlock) => ({
  blockNumber: Number(number),
  blockHash: hash,
  blockTimestamp: Number(timestamp),
})

/** Whether an index with this lag counts as out of reach; a null lag is unknown. */
export const isStale = (lagSeconds: number | null, maxLagSeconds: number): boolean =>
  lagSeconds === null || lagSeconds > maxLagSeconds

/** The chains that still miss observations after a rollback. */
export const refreshingOf = (tips: readonly Tip[]): ChainId[] =>
  tips.flatMap(({ chainId, isRefreshing }) => (isRefreshing ? chainId : []))

/**
 * Reads the newest indexed block of a chain and its lag: behind the newest block of the nodes, or behind the clock when
 * no node is in reach. Blocks without a log of the protocol do not count. Throws `service_unavailable` when the chain is
 * not indexed yet.
 */
export const indexedBlock = async (
  sources: { readonly chains: ReadonlyMap<ChainId, Pick<Chain, 'head'>>; readonly queries: Pick<Queries, 'reached'> },
  chainId: ChainId,
) => {
  // Callers read rows after this, so the rows are at least as new as the block.
  const reading = sources.chains.get(chainId)?.head().catch(nullIfUnavailable)
  const [progress, head] = await Promise.all([sources.queries.reached(chainId), reading])
  if (progress === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  const { block, heartbeat } = progress
  const { timestamp } = head ?? { timestamp: BigInt(Math.floor(Date.now() / 1_000)) }
  const covered = heartbeat?.isQuiet ? heartbeat.head : block
  return { block, lagSeconds: secondsBehind(covered, { timestamp }) }
}

/** The error for an index whose lag exceeds `maxLagSeconds`. */
export const laggingIndex = (chainId: ChainId, lagSeconds: number): Error =>
  unavailable(`the index of chain ${chainId} is ${lagSeconds} s behind`)

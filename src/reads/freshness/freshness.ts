import type { Hex } from 'viem'

/** The source of an answer, and the block that it is as of. */
export type Freshness = {
  readonly source: 'chain' | 'database' | 'static'
  /** Absent for data that no block changes, and for answers of several chains. `timestamp` in Unix seconds. */
  readonly block?: { readonly number: bigint; readonly hash: Hex; readonly timestamp: bigint }
  /** True for an answer of the fallback, or of an index that lags: the preferred source is out of reach. */
  readonly stale: boolean
  /** The lag of the index in seconds, when it answered as the preferred source. */
  readonly lagSeconds?: number
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

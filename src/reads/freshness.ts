import type { Hex } from 'viem'

/** Where an answer came from and the block it is true at. */
export type Freshness = {
  readonly source: 'chain' | 'database' | 'static'
  /** Absent for what no block changes; `timestamp` in Unix seconds. */
  readonly block?: { readonly number: bigint; readonly hash: Hex; readonly timestamp: bigint }
  /** True for a fallback: the source that should have answered is out of reach. */
  readonly stale: boolean
  /** How far the index was behind its chain, in seconds, where it answered as the preferred source. */
  readonly lagSeconds?: number
}

/** The headers that tell clients an answer's source and block. */
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

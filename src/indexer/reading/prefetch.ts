import type { Chain } from '../../chain/chain.ts'
import type { Block } from '../../chain/rpc/requests.ts'
import { ChainMoved, type Fetched, fetchRange, type Range } from './range.ts'

/** The blocks after a known block (`null` at the start of the index) up to the chain's head. */
type PrefetchTarget = {
  readonly after: { readonly number: bigint; readonly hash: string } | null
  readonly head: Block
}

/** Fetches ranges before the caller needs them. */
export type RangePrefetcher = {
  /**
   * Returns the next range, as wide as a node allows, and fetches the ranges after it in the background. Throws
   * ChainMoved when the range does not follow `after`, or what `Chain.logs` throws; all prefetched ranges are dropped
   * then.
   */
  next(target: PrefetchTarget): Promise<Range>
  /** Whether the range after this block has been requested already. */
  isAhead(after: { readonly number: bigint }): boolean
  /** Drops all prefetched ranges. They may be of an orphaned fork, or incomplete. */
  drop(): void
}

/**
 * The most prefetched ranges. Their memory is bounded, because an endpoint's log width adapts to the number of logs per
 * answer.
 */
const MAX_PREFETCHED = 2

type PrefetchedRange = { readonly from: bigint; readonly upTo: bigint; readonly range: Promise<Fetched> }

/**
 * Fetches ranges in order and ahead of time, so that node and database work in parallel.
 *
 * @example
 * const ranges = createRangePrefetcher({ chain })
 * const range = await ranges.next({ after: cursor, head })
 */
export const createRangePrefetcher = ({ chain }: { readonly chain: Chain }): RangePrefetcher => {
  let queue: readonly PrefetchedRange[] = []

  const drop = (): void => {
    queue = []
  }

  const fetching = (from: bigint, upTo: bigint, head: Block): PrefetchedRange => {
    const range = fetchRange(chain, { from, upTo, head })
    // `next` awaits the range and gets its fault. A dropped range may fail unhandled.
    range.catch(() => {})
    return { from, upTo, range }
  }

  /** Requests the ranges after `range`, with the current log width of its endpoint. */
  const fill = ({ endpoint, block }: Fetched, head: Block): void => {
    const width = chain.status().endpoints[endpoint]?.width ?? 1n
    let from = (queue.at(-1)?.upTo ?? block.number) + 1n
    while (queue.length < MAX_PREFETCHED && from <= head.number) {
      const end = from + width - 1n
      const upTo = end < head.number ? end : head.number
      queue = [...queue, fetching(from, upTo, head)]
      from = upTo + 1n
    }
  }

  return {
    async next({ after, head }) {
      const from = after === null ? chain.deployment.startBlock : after.number + 1n
      const [ready, ...others] = queue[0]?.from === from ? queue : []
      queue = others
      try {
        // The first range is fetched without prefetching, because its answer sets the log width.
        const range = await (ready ?? fetching(from, head.number, head)).range
        if (after !== null && range.before?.hash !== after.hash) throw new ChainMoved(`block ${from - 1n} changed`)
        // If the node returned fewer blocks than requested, the next prefetched range begins too late.
        if (queue[0]?.from !== range.block.number + 1n) drop()
        fill(range, head)
        return range
      } catch (fault) {
        drop()
        throw fault
      }
    },
    isAhead: (after) => queue[0]?.from === after.number + 1n,
    drop,
  }
}

import type { Chain } from '../chain/chain.ts'
import type { Block } from '../chain/requests.ts'
import { ChainMoved, type Fetched, fetchRange, type Range } from './range.ts'

/** What follows a block whose hash is known (`null` at the start of the index), up to the chain's head. */
type Stretch = {
  readonly after: { readonly number: bigint; readonly hash: string } | null
  readonly head: Block
}

/** Ranges that are fetched before they are asked for. */
export type Ranges = {
  /**
   * The range that comes next, as long as a node gives at once. While the caller works on it, those after it are fetched. Throws
   * ChainMoved when it does not follow `after`, or what `Chain.logs` throws; nothing that was fetched ahead is used then.
   */
  next(stretch: Stretch): Promise<Range>
  /** The range after this block was asked for already. */
  isAhead(after: { readonly number: bigint }): boolean
  /** Forgets what was fetched ahead: it may be of a chain that is no more, or be what a caller found wanting. */
  drop(): void
}

/** Ranges fetched ahead at once. An answer is bounded, by what a width learns of density, and so is what they hold together. */
const AHEAD = 3

type Fetching = { readonly from: bigint; readonly upTo: bigint; readonly range: Promise<Fetched> }

/**
 * Fetches ranges in order and ahead of time, so that neither the node nor the database waits for the other.
 *
 * @example
 * const ranges = createRanges({ chain })
 * const range = await ranges.next({ after: cursor, head })
 */
export const createRanges = ({ chain }: { readonly chain: Chain }): Ranges => {
  let queue: readonly Fetching[] = []

  const drop = (): void => {
    queue = []
  }

  const fetching = (from: bigint, upTo: bigint, head: Block): Fetching => {
    const range = fetchRange(chain, { from, upTo, head })
    // Whoever takes it meets the fault; a range that is dropped may fail unseen.
    range.catch(() => {})
    return { from, upTo, range }
  }

  /** Asks for the ranges after `range`, each as wide as its endpoint is asked for now. */
  const fill = ({ endpoint, block }: Fetched, head: Block): void => {
    const width = chain.status().endpoints[endpoint]?.width ?? 1n
    let from = (queue.at(-1)?.upTo ?? block.number) + 1n
    while (queue.length < AHEAD && from <= head.number) {
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
        // With nothing known of what is ahead the first answer comes alone: it tells how much is in it.
        const range = await (ready ?? fetching(from, head.number, head)).range
        if (after !== null && range.before?.hash !== after.hash) throw new ChainMoved(`block ${from - 1n} changed`)
        // Where a node gave less than it was asked for, what follows begins too far on.
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

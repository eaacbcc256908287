import { unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { Outcome } from './endpoint.ts'
import { toServiceError } from './errors.ts'
import type { Node } from './failover.ts'
import { type Block, getBlock } from './requests.ts'

/** The block that reads are pinned to. */
export type Head = {
  /**
   * The newest block that was seen, asked for at most `maxAgeMs` ago; readers that overlap share one request. It never goes back in height
   * before a lower one has persisted for ten seconds, or it was dropped. One that is lower than `atLeast` is asked for again, and given
   * if it still is. Throws `service_unavailable` when no node answers.
   */
  latest(atLeast?: bigint): Promise<Block>
  /** Forgets the block, so that the next reader asks: no node has it. */
  drop(block: Block): void
}

/** A node that lags says something lower for as long as it is asked; a chain that went back does so for ever. */
const LOWER_PERSISTS_MS = 10_000

/** How old the block is at least by whose hash a node is known to be on the same chain as before; at most twice that. */
const LANDMARK_MS = 2_000

/** A fork that all nodes are on for so long is the chain; one node's may be its own, while the others do not answer. */
const FORK_PERSISTS_MS = 2_000

/** Two such blocks in a row are no reorg. */
const DROPPED_AGAIN_MS = 1_000

type Known = { readonly block: Block; readonly by: number; readonly askedAt: number; readonly saidAt: number }
type Landmark = { readonly block: Block; readonly since: number }

export const createHead = (deps: {
  readonly node: Pick<Node, 'sendBy'>
  readonly doubt: (endpoint: number, why: string) => void
  /** There is one endpoint: its word is all there is. */
  readonly isAlone: boolean
  readonly maxAgeMs: number
  readonly now: () => number
}): Head => {
  let known: Known | undefined
  let landmark: Landmark | undefined
  let nextLandmark: Landmark | undefined
  let forkedSince: number | undefined
  let dropped: { readonly by: number; readonly at: number } | undefined
  const once = createSingleFlight<Block>()

  /** Heads of some seconds ago: deep enough that few reorgs reach them, new enough that every node has them. */
  const keep = (block: Block, now: number): void => {
    if (deps.isAlone || (nextLandmark !== undefined && now - nextLandmark.since < LANDMARK_MS)) return
    landmark = nextLandmark
    nextLandmark = { block, since: now }
  }

  const fetch = async (): Promise<Block> => {
    const held = landmark?.block
    const contradicts = ([, past]: readonly Outcome<Block | null>[]): string | null =>
      past?.ok === true && past.value !== null && past.value.hash !== held?.hash
        ? `block ${past.value.number} is another one than it was`
        : null
    const asked = held === undefined ? [getBlock('latest')] : [getBlock('latest'), getBlock(held.number)]
    const { endpoint, outcomes } = await deps.node.sendBy(asked, { contradicts })
    const [latest] = outcomes
    if (latest === undefined) throw new RangeError('a batch has an outcome for each request')
    if (!latest.ok) throw toServiceError(latest.error)
    if (latest.value === null) throw unavailable('the node has no latest block')
    const now = deps.now()
    if (contradicts(outcomes) === null) forkedSince = undefined
    else {
      // Nobody says otherwise.
      forkedSince ??= now
      if (now - forkedSince < FORK_PERSISTS_MS) throw unavailable('the chain is not what it was')
      forkedSince = undefined
      known = undefined
      landmark = undefined
      nextLandmark = undefined
    }
    const isLower = known !== undefined && latest.value.number < known.block.number
    if (known !== undefined && isLower && now - known.saidAt < LOWER_PERSISTS_MS) {
      known = { ...known, askedAt: now }
      return known.block
    }
    known = { block: latest.value, by: endpoint, askedAt: now, saidAt: now }
    keep(latest.value, now)
    return latest.value
  }

  return {
    async latest(atLeast = 0n) {
      const isRecent = known !== undefined && deps.now() - known.askedAt <= deps.maxAgeMs
      if (known !== undefined && isRecent && known.block.number >= atLeast) return known.block
      return once('latest', fetch)
    },
    drop(block) {
      if (known?.block.hash !== block.hash) return
      const { by } = known
      const now = deps.now()
      if (dropped?.by === by && now - dropped.at < DROPPED_AGAIN_MS) deps.doubt(by, 'no node has its newest blocks')
      dropped = { by, at: now }
      known = undefined
    },
  }
}

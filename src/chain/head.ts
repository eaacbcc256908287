import { unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { Node } from './pool/failover.ts'
import { toServiceError } from './rpc/errors.ts'
import { type Block, getBlock } from './rpc/requests.ts'
import type { Outcome } from './rpc/transport.ts'

/** The block that reads are pinned to. */
export type Head = {
  /**
   * The newest known block, read at most `maxAgeMs` ago; concurrent readers share one request. A lower block replaces
   * it only after it was reported for ten seconds, or after `drop`. A block below `atLeast` is requested again and
   * returned even if it is still below. Throws `service_unavailable` when no node answers.
   */
  latest(atLeast?: bigint): Promise<Block>
  /** The newest block, read after this call or with another reader's request that is under way. */
  fresh(): Promise<Block>
  /** Discards the block because no node has it, so the next reader requests a new one. */
  drop(block: Block): void
}

/** A lower head may come from a lagging node; only a chain that went back reports it for this long. */
const LOWER_PERSISTS_MS = 10_000

/**
 * The least age of the reference block, whose hash shows that a node is on the same chain as before; its age is at most
 * twice that.
 */
const REFERENCE_MS = 2_000

/**
 * A fork that no node contradicts for this long is the chain. A shorter one may be a single node's while others do not
 * answer.
 */
const FORK_PERSISTS_MS = 2_000

/** Two dropped blocks of one endpoint within this time are not a reorg: the endpoint is penalized. */
const DROPPED_AGAIN_MS = 1_000

type KnownHead = {
  readonly block: Block
  readonly endpoint: number
  /** When a head was last requested. */
  readonly requestedAt: number
  /** When this block was reported. */
  readonly reportedAt: number
}
type ReferenceBlock = { readonly block: Block; readonly since: number }

export const createHead = (deps: {
  readonly node: Pick<Node, 'sendBy'>
  readonly penalize: (endpoint: number, why: string) => void
  /** There is only one endpoint, so no answer can be checked against another one. */
  readonly isAlone: boolean
  readonly maxAgeMs: number
  readonly now: () => number
}): Head => {
  let known: KnownHead | undefined
  let reference: ReferenceBlock | undefined
  let nextReference: ReferenceBlock | undefined
  let forkedSince: number | undefined
  let dropped: { readonly endpoint: number; readonly at: number } | undefined
  const once = createSingleFlight<Block>()

  /** Reference blocks are a few seconds old: few reorgs reach them, and every node has them. */
  const keepReference = (block: Block, now: number): void => {
    if (deps.isAlone || (nextReference !== undefined && now - nextReference.since < REFERENCE_MS)) return
    reference = nextReference
    nextReference = { block, since: now }
  }

  const fetch = async (): Promise<Block> => {
    const held = reference?.block
    const contradicts = ({ past }: { readonly past: Outcome<Block | null> | undefined }): string | null =>
      past?.ok === true && past.value !== null && past.value.hash !== held?.hash
        ? `block ${past.value.number} has another hash than before`
        : null
    const batch = { latest: getBlock('latest'), past: held && getBlock(held.number) }
    const { endpoint, outcomes } = await deps.node.sendBy(batch, { contradicts })
    const { latest } = outcomes
    if (!latest.ok) throw toServiceError(latest.error)
    if (latest.value === null) throw unavailable('the node has no latest block')
    const now = deps.now()
    if (contradicts(outcomes) === null) forkedSince = undefined
    else {
      forkedSince ??= now
      if (now - forkedSince < FORK_PERSISTS_MS) throw unavailable('the nodes report another fork: retry after 1 s')
      known = undefined
      nextReference = undefined
    }
    const isLower = known !== undefined && latest.value.number < known.block.number
    if (known !== undefined && isLower && now - known.reportedAt < LOWER_PERSISTS_MS) {
      known = { ...known, requestedAt: now }
      return known.block
    }
    known = { block: latest.value, endpoint, requestedAt: now, reportedAt: now }
    keepReference(latest.value, now)
    return latest.value
  }

  return {
    async latest(atLeast = 0n) {
      const isRecent = known !== undefined && deps.now() - known.requestedAt <= deps.maxAgeMs
      if (known !== undefined && isRecent && known.block.number >= atLeast) return known.block
      return once('latest', fetch)
    },
    fresh: () => once('latest', fetch),
    drop(block) {
      if (known?.block.hash !== block.hash) return
      const { endpoint } = known
      const now = deps.now()
      if (dropped?.endpoint === endpoint && now - dropped.at < DROPPED_AGAIN_MS)
        deps.penalize(endpoint, 'no node has its newest blocks')
      dropped = { endpoint, at: now }
      known = undefined
    },
  }
}

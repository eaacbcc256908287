import { LRUCache } from 'lru-cache'
import type { Chain } from '../../chain/chain.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { errorText, isUnavailable } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Changes, resourceOf } from '../../reads/cache/resources.ts'
import { type BlockRef, refersTo } from './tags.ts'

/** Most blocks remembered per chain: those of the last minutes at five blocks a second. */
const MAX_BLOCKS = 2_000

/** Most blocks in one request to a node. */
const MAX_REQUESTED = 20

type ReadBlock = Pick<Block, 'number' | 'hash'>

/** A block, and the version of the chain at which a node confirmed it on the index's fork; null before that. */
type Candidate = { readonly block: ReadBlock; confirmedAt: number | null }

/**
 * Finds out which blocks that responses were read at are on the fork that the index follows. The index does not report
 * changes of another fork, so a tag with a block of one is not valid. After each commit of the index, the blocks that
 * are not confirmed yet are requested from one node.
 */
export const createForkBlocks = (deps: {
  readonly chains: ReadonlyMap<ChainId, Chain>
  readonly changes: Changes
  readonly log: Pick<Logger, 'error'>
  readonly maxBlocks?: number
  readonly maxRequested?: number
}) => {
  const { chains, changes, log, maxBlocks = MAX_BLOCKS, maxRequested = MAX_REQUESTED } = deps
  const candidates = new Map([...chains.keys()].map((id) => [id, new LRUCache<number, Candidate>({ max: maxBlocks })]))
  const confirming = new Set<ChainId>()

  /** Requests the blocks and the newest indexed one from one endpoint. Only one on the same fork can confirm blocks. */
  const confirm = async (chain: Chain): Promise<void> => {
    const { chainId } = chain
    const tip = changes.reached(chainId)?.block
    const blocks = candidates.get(chainId)
    if (tip === undefined || blocks === undefined || confirming.has(chainId)) return
    const waiting = [...blocks.values()].filter((it) => it.confirmedAt === null && it.block.number <= tip.number)
    if (waiting.length === 0) return
    confirming.add(chainId)
    try {
      const version = changes.version(resourceOf([chainId]))
      const requested = waiting.slice(0, maxRequested)
      const { indexed, outcomes } = await chain.send({
        indexed: getBlock(tip.number),
        outcomes: requested.map(({ block }) => getBlock(block.number)),
      })
      if (!indexed.ok || indexed.value?.hash !== tip.hash) return
      for (const [at, it] of requested.entries()) {
        const outcome = outcomes[at]
        if (outcome?.ok !== true || outcome.value === null) continue
        if (outcome.value.hash === it.block.hash) it.confirmedAt = version
        else blocks.delete(Number(it.block.number))
      }
    } catch (fault) {
      if (!isUnavailable(fault))
        log.error({ chainId, fault: errorText(fault) }, 'blocks of cached responses not confirmed')
    } finally {
      confirming.delete(chainId)
    }
  }

  return {
    /** Adds a block that a response was read at. It is confirmed once the index has passed it. */
    add(chainId: ChainId, block: ReadBlock): void {
      const number = Number(block.number)
      const blocks = candidates.get(chainId)
      if (blocks?.get(number)?.block.hash !== block.hash) blocks?.set(number, { block, confirmedAt: null })
    },
    /** Whether the block is confirmed to be on the index's fork. */
    isConfirmed(chainId: ChainId, reference: BlockRef): boolean {
      const known = candidates.get(chainId)?.get(reference.number)
      // A rollback gives the whole chain a new version, which makes earlier confirmations void.
      const version = changes.version(resourceOf([chainId]))
      return known !== undefined && refersTo(reference, known.block) && known.confirmedAt === version
    },
    close: changes.onCommit(() => {
      for (const chain of chains.values()) void confirm(chain)
    }),
  }
}

export type ForkBlocks = ReturnType<typeof createForkBlocks>

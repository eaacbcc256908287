import { LRUCache } from 'lru-cache'
import type { Chain } from '../../chain/chain.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import { nullIfUnavailable } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Changes, resourceOf } from '../../reads/cache/resources.ts'
import { type BlockRef, refersTo } from './tags.ts'

/** Most blocks remembered per chain: those of the last minutes at five blocks a second. */
const MAX_BLOCKS = 2_000

type ReadBlock = Pick<Block, 'number' | 'hash'>

type Answers = Readonly<Record<'indexed' | 'read', Outcome<Block | null>>>

/** A block, and the version of the chain at which a node confirmed it on the index's fork; null before that. */
type Candidate = { readonly block: ReadBlock; confirmedAt: number | null }

/**
 * Finds out which blocks that responses were read at are on the fork that the index follows. The index does not report
 * changes of another fork, so a tag with a block of one is not valid. A node is asked about a block when a client
 * returns its tag, and not before.
 */
export const createForkBlocks = (deps: {
  readonly chains: ReadonlyMap<ChainId, Chain>
  readonly changes: Changes
  readonly maxBlocks?: number
}) => {
  const { chains, changes, maxBlocks = MAX_BLOCKS } = deps
  const candidates = new Map([...chains.keys()].map((id) => [id, new LRUCache<number, Candidate>({ max: maxBlocks })]))

  const once = createSingleFlight<Answers | null | undefined>()

  const candidateOf = (chainId: ChainId, reference: BlockRef): Candidate | undefined => {
    const known = candidates.get(chainId)?.get(reference.number)
    return known !== undefined && refersTo(reference, known.block) ? known : undefined
  }

  /** A rollback gives the whole chain a new version, which makes earlier confirmations void. */
  const versionOf = (chainId: ChainId): number => changes.version(resourceOf([chainId]))

  return {
    /** Adds a block that a response was read at. It can be confirmed once the index has passed it. */
    add(chainId: ChainId, block: ReadBlock): void {
      const number = Number(block.number)
      const blocks = candidates.get(chainId)
      if (blocks?.get(number)?.block.hash !== block.hash) blocks?.set(number, { block, confirmedAt: null })
    },
    /** Whether the block is confirmed to be on the index's fork. */
    isConfirmed: (chainId: ChainId, reference: BlockRef): boolean =>
      candidateOf(chainId, reference)?.confirmedAt === versionOf(chainId),
    /**
     * Requests a block that is not confirmed yet and the newest indexed one from one endpoint. Only one on the same fork
     * can confirm blocks. The block stays as it is when no node answers.
     */
    async confirm(chainId: ChainId, reference: BlockRef): Promise<void> {
      const known = candidateOf(chainId, reference)
      const tip = changes.reached(chainId)?.block
      const version = versionOf(chainId)
      if (known === undefined || known.confirmedAt === version || tip === undefined) return
      if (known.block.number > tip.number) return
      const sent = await once(`${chainId} ${tip.hash} ${known.block.hash}`, async () => {
        const batch = { indexed: getBlock(tip.number), read: getBlock(known.block.number) }
        return chains.get(chainId)?.send(batch).catch(nullIfUnavailable)
      })
      if (!sent?.indexed.ok || sent.indexed.value?.hash !== tip.hash) return
      if (sent.read.ok && sent.read.value?.hash === known.block.hash) known.confirmedAt = version
    },
  }
}

export type ForkBlocks = ReturnType<typeof createForkBlocks>

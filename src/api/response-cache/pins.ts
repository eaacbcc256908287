import { LRUCache } from 'lru-cache'
import type { Chain } from '../../chain/chain.ts'
import { type Block, getBlock } from '../../chain/requests.ts'
import type { Reached } from '../../db/changes.ts'
import { isUnavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Changes, resourceOf } from '../../reads/changes.ts'
import { isPinOf, type Pin } from './tags.ts'

/**
 * Which of the blocks that answers were read at are on the fork that the index follows. What was read on a fork that is gone may never be
 * told as changed, since the index never saw it: a tag of such a block must not be believed.
 */
export type Pins = {
  /** Remembers a block that something was read at, to be looked for once the index has passed it. */
  add(chainId: ChainId, block: Pick<Block, 'number' | 'hash'>): void
  /** Whether the block is known to be one of the index's fork. */
  holds(chainId: ChainId, pin: Pin): boolean
  close(): void
}

/** Blocks remembered of each chain: at five a second those of the last minutes. */
const MOST = 2_000

/** Blocks looked for at once. */
const AT_ONCE = 20

/** A block, and the version of the whole chain at which it was found on the index's fork; null as long as nobody looked. */
type Pinned = { readonly block: Pick<Block, 'number' | 'hash'>; kept: number | null }

/** Looks for pinned blocks whenever the index has come on: one request for many answers, and none while nobody asks for anything. */
export const createPins = (deps: { readonly chains: ReadonlyMap<ChainId, Chain>; readonly changes: Changes }): Pins => {
  const { chains, changes } = deps
  const pinned = new Map([...chains.keys()].map((id) => [id, new LRUCache<number, Pinned>({ max: MOST })]))
  const looking = new Set<ChainId>()

  /** Asks one endpoint for the blocks and the index's own: only one that is on the index's fork can tell. */
  const look = async (chain: Chain, { block: tip }: Reached, waiting: readonly Pinned[]): Promise<void> => {
    const version = changes.version(resourceOf([chain.chainId]))
    const [own, ...blocks] = await chain.send([
      getBlock(tip.number),
      ...waiting.map(({ block }) => getBlock(block.number)),
    ])
    if (!own?.ok || own.value?.hash !== tip.hash) return
    for (const [at, it] of waiting.entries()) {
      const outcome = blocks[at]
      if (outcome?.ok !== true || outcome.value === null) continue
      if (outcome.value.hash === it.block.hash) it.kept = version
      else pinned.get(chain.chainId)?.delete(Number(it.block.number))
    }
  }

  const lookAll = async (chain: Chain): Promise<void> => {
    const tip = changes.reached(chain.chainId)
    const blocks = pinned.get(chain.chainId)
    if (tip === undefined || blocks === undefined || looking.has(chain.chainId)) return
    const waiting = [...blocks.values()].filter(({ block, kept }) => kept === null && block.number <= tip.block.number)
    if (waiting.length === 0) return
    looking.add(chain.chainId)
    try {
      await look(chain, tip, waiting.slice(0, AT_ONCE))
    } catch (fault) {
      if (!isUnavailable(fault)) throw fault
    } finally {
      looking.delete(chain.chainId)
    }
  }

  const stop = changes.onCommit(() => {
    for (const chain of chains.values()) void lookAll(chain)
  })

  return {
    add(chainId, block) {
      const number = Number(block.number)
      const blocks = pinned.get(chainId)
      if (blocks?.get(number)?.block.hash !== block.hash) blocks?.set(number, { block, kept: null })
    },
    holds(chainId, pin) {
      const known = pinned.get(chainId)?.get(pin.number)
      // A rollback changes everything of the chain, so what was found before does not count after it.
      return known !== undefined && isPinOf(pin, known.block) && known.kept === changes.version(resourceOf([chainId]))
    },
    close: stop,
  }
}

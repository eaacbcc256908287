import { unavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { toServiceError } from './errors.ts'
import type { Node } from './failover.ts'
import { type Block, getBlock } from './requests.ts'

/** The block that reads are pinned to. */
export type Head = {
  /** The newest block, at most `maxAgeMs` old; readers that overlap share one request. */
  latest(): Promise<Block>
  /** Forgets the block, so that the next reader asks: it is not on the chain any more. */
  drop(block: Block): void
}

export const createHead = (deps: {
  readonly node: Node
  readonly maxAgeMs: number
  readonly now: () => number
}): Head => {
  let known: { readonly block: Block; readonly at: number } | undefined
  const once = createSingleFlight<Block>()

  const fetch = async (): Promise<Block> => {
    const [outcome] = await deps.node.send([getBlock('latest')])
    if (!outcome.ok) throw toServiceError(outcome.error)
    if (outcome.value === null) throw unavailable('the node has no latest block')
    known = { block: outcome.value, at: deps.now() }
    return outcome.value
  }

  return {
    async latest() {
      if (known !== undefined && deps.now() - known.at <= deps.maxAgeMs) return known.block
      return once('latest', fetch)
    },
    drop(block) {
      if (known?.block.hash === block.hash) known = undefined
    },
  }
}

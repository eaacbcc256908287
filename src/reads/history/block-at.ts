import { toServiceError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { invalidField, nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import { notIndexedYet } from '../freshness/consistency.ts'
import { chainOf, type ReadSources } from '../read.ts'

/** The sources of reads of the past. */
export type PastSources = Pick<ReadSources, 'chains' | 'history'>

/** Most requests to nodes for one time: a guess by the times of blocks divides those that are left, each third halves them. */
const MAX_GUESSES = 64

/** A block by its number; null when no node is in reach or has it. */
const headerOf = async ({ chains }: PastSources, chainId: ChainId, number: bigint): Promise<Block | null> => {
  const { outcome } = await chainOf(chains, chainId).send({ outcome: getBlock(number) })
  if (outcome.ok) return outcome.value
  throw toServiceError(outcome.error)
}

/**
 * The last block whose time is not after `seconds`, by the headers of nodes. `low` is such a block and `high`, above it,
 * is not. Null when a node lacks a block.
 */
const search = async (
  sources: PastSources,
  chainId: ChainId,
  seconds: bigint,
  bracket: { readonly low: Block; readonly high: Block },
): Promise<Block | null> => {
  let { low, high } = bracket
  for (let guesses = 1; high.number - low.number > 1n; guesses += 1) {
    if (guesses > MAX_GUESSES) return null
    const [blocks, time] = [high.number - low.number, high.timestamp - low.timestamp]
    const share = guesses % 3 === 0 ? blocks / 2n : ((seconds - low.timestamp) * blocks) / time
    const offset = share < 1n ? 1n : share < blocks ? share : blocks - 1n
    const found = await headerOf(sources, chainId, low.number + offset)
    if (found === null) return null
    if (found.timestamp <= seconds) low = found
    else high = found
  }
  return low
}

/**
 * Finds the block of a moment: of a number the block itself, of a time the last block not after it. While no node is in
 * reach, the last block before it with a log of the protocol stands for it: the state at the end of both is the same,
 * except for what changes with time alone. Throws `validation_error` for a time before the first block of the chain, and
 * `service_unavailable` for one that is not indexed yet.
 */
export const blockAt = async (sources: PastSources, chainId: ChainId, moment: Moment): Promise<Block> => {
  const { before, after, tip } = await sources.history.around(chainId, moment)
  if (tip === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  const ofNodes = async (): Promise<Block | null> => {
    if ('block' in moment) return moment.block === tip.number ? tip : headerOf(sources, chainId, moment.block)
    if (moment.seconds === tip.timestamp) return tip
    const low = before ?? (await headerOf(sources, chainId, 0n))
    if (low === null) return null
    if (low.timestamp > moment.seconds)
      throw invalidField('at', `expected a time of chain ${chainId}, which began later`)
    return search(sources, chainId, moment.seconds, { low, high: after ?? tip })
  }
  if ('block' in moment) {
    if (moment.block > tip.number) throw notIndexedYet(chainId, moment.block, tip)
  } else if (moment.seconds > tip.timestamp) throw notIndexedYet(chainId, tip.number + 1n, tip)
  const found = (await ofNodes().catch(nullIfUnavailable)) ?? before
  if (found === null)
    throw unavailable(`no node of chain ${chainId} is in reach, and the protocol has no log before that moment`)
  return found
}

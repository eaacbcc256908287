import { toServiceError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { invalidField, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { Moment } from '../../protocol/fields/request-fields.ts'
import { notIndexedYet } from '../freshness/consistency.ts'
import { chainOf, type ReadSources } from '../read.ts'

/** The sources of reads of the past. */
export type PastSources = Pick<ReadSources, 'chains' | 'history'>

/** Most requests to nodes for one time: a guess by the times of blocks divides those that are left, each third halves them. */
const MAX_GUESSES = 64

/** A block by its number; null when no node has it. Throws `service_unavailable` when none is in reach. */
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

/** A time as a text that an error shows. */
const timeText = (seconds: bigint): string => new Date(Number(seconds) * 1_000).toISOString()

/**
 * Finds the block of a moment: of a number the block itself, of a time the last block not after it. Reads it from a node
 * unless the index has exactly this block. `field` is the parameter of the request, and `now` the time in Unix
 * milliseconds. Throws `validation_error` for a time before the first block of the chain or in the future, and
 * `service_unavailable` for a moment that is not indexed yet, and when no node has the block.
 */
export const blockAt = async (
  sources: PastSources,
  chainId: ChainId,
  moment: Moment,
  { field = 'at', now = Date.now() } = {},
): Promise<Block> => {
  const { before, after, tip } = await sources.history.around(chainId, moment)
  if (tip === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  const wanted = 'block' in moment ? `block ${moment.block}` : `the block of ${moment.seconds} s`
  const required = (block: Block | null): Block => {
    if (block === null) throw unavailable(`no node of chain ${chainId} has ${wanted}`)
    return block
  }
  if ('block' in moment) {
    if (moment.block > tip.number) throw notIndexedYet(chainId, moment.block, tip)
    const known = [tip, before].find((block) => block?.number === moment.block)
    return known ?? required(await headerOf(sources, chainId, moment.block))
  }
  const { seconds } = moment
  if (seconds > tip.timestamp && seconds * 1_000n > BigInt(now))
    throw invalidField(
      field,
      'expected a time that has passed, in Unix seconds and not in milliseconds, or in ISO 8601',
    )
  if (seconds > tip.timestamp)
    throw unavailable(`chain ${chainId} has no later block than ${timeText(tip.timestamp)} in the index yet`)
  if (seconds === tip.timestamp) {
    // Blocks may share a second.
    const next = await headerOf(sources, chainId, tip.number + 1n)
    if (next !== null && next.timestamp <= seconds)
      throw unavailable(`the index does not have all blocks of chain ${chainId} of ${timeText(seconds)} yet`)
    return tip
  }
  const low = before ?? required(await headerOf(sources, chainId, 0n))
  if (low.timestamp > seconds)
    throw invalidField(field, `expected a time from ${timeText(low.timestamp)} on, when chain ${chainId} began`)
  return required(await search(sources, chainId, seconds, { low, high: after ?? tip }))
}

import type { StoredBlock } from '../db/stored.ts'
import { isUnavailable, unavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import { chainOf, type Sources } from './read.ts'

/** Unix seconds of the newest block; of now when no node says. */
const newest = async (sources: Sources, chainId: ChainId): Promise<bigint> => {
  try {
    return (await chainOf(sources, chainId).head()).timestamp
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return BigInt(Math.floor(Date.now() / 1000))
  }
}

/** The block a chain's index has reached, and how far that is behind the chain. Throws `service_unavailable` when it has none. */
export const indexedBlock = async (
  sources: Sources,
  chainId: ChainId,
): Promise<{ readonly block: StoredBlock; readonly lagSeconds: number }> => {
  // The cursor first: what is read after it is at least as new as it says.
  const [block, now] = await Promise.all([sources.queries.indexed(chainId), newest(sources, chainId)])
  if (block === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  return { block, lagSeconds: Math.max(0, Number(now - block.timestamp)) }
}

/** The fault of an index that is further behind than `maxLagSeconds`. */
export const lagging = (chainId: ChainId, lagSeconds: number): Error =>
  unavailable(`the index of chain ${chainId} is ${lagSeconds} s behind`)

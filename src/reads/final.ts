import { getBlock } from '../chain/requests.ts'
import { isUnavailable } from '../lib/errors.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import type { ChainId } from '../protocol/chains.ts'
import { chainOf, type Sources } from './read.ts'

/** How long what a chain calls final is taken for all that is, in milliseconds. */
const KEPT_MS = 10_000

/** Tells what cannot be undone any more. */
export const createFinality = (
  sources: Pick<Sources, 'chains'>,
  now: () => number = performance.now.bind(performance),
) => {
  const known = new Map<ChainId, { readonly timestamp: bigint; readonly at: number }>()
  const once = createSingleFlight<bigint>()

  const finalTime = async (chainId: ChainId): Promise<bigint> => {
    const before = known.get(chainId)
    if (before !== undefined && now() - before.at <= KEPT_MS) return before.timestamp
    return once(String(chainId), () => askFinalTime(chainId))
  }

  const askFinalTime = async (chainId: ChainId): Promise<bigint> => {
    try {
      const [block] = await chainOf(sources, chainId).send([getBlock('finalized')])
      const timestamp = block.ok && block.value !== null ? block.value.timestamp : (known.get(chainId)?.timestamp ?? 0n)
      known.set(chainId, { timestamp, at: now() })
      return timestamp
    } catch (fault) {
      if (!isUnavailable(fault)) throw fault
      return 0n
    }
  }

  return {
    /** Whether what happened in a block of that time (Unix seconds; 0 for not yet) is final. False when no node tells. */
    isFinal: async (chainId: ChainId, timestamp: number): Promise<boolean> =>
      // Blocks may share a time: the final one may be the first of them.
      timestamp > 0 && BigInt(timestamp) < (await finalTime(chainId)),
  }
}

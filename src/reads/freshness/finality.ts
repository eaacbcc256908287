import type { Chain } from '../../chain/chain.ts'
import { toServiceError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import type { ChainId } from '../../protocol/chains.ts'

export const finalities = ['latest', 'safe', 'finalized'] as const
export type Finality = (typeof finalities)[number]

/** How long a block answers `finalBlock`, in milliseconds. Final blocks advance in steps of seconds at least. */
const BLOCK_MAX_AGE_MS = 1_000

/** How long an answer serves `isFinal`, in milliseconds. Old final blocks are still final: it errs towards `false`. */
const IS_FINAL_MAX_AGE_MS = 10_000

/**
 * The nodes' last answer: the newest block they have reported so far, why they did not report one this time, and when
 * the request began.
 */
type Answer = { readonly block: Block | null; readonly fault: Error | null; readonly readAt: number }

/** Reads and caches the newest safe and finalized blocks of the chains, once for all who need them. */
export const createFinality = (chains: ReadonlyMap<ChainId, Chain>) => {
  const answers = new Map<string, Answer>()
  const singleFlight = createSingleFlight<Answer>()

  /** Throws `service_unavailable` when no node is in reach, and remembers nothing then. */
  const read = (chainId: ChainId, finality: Finality): Promise<Answer> => {
    const key = `${chainId} ${finality}`
    return singleFlight(key, async () => {
      const chain = chains.get(chainId)
      if (chain === undefined) throw unavailable(`chain ${chainId} is not configured`)
      const readAt = performance.now()
      const { outcome } = await chain.send({ outcome: getBlock(finality) })
      const block = outcome.ok ? outcome.value : null
      const none = (): Error =>
        outcome.ok ? unavailable(`chain ${chainId} has no ${finality} block yet`) : toServiceError(outcome.error)
      const answer: Answer = {
        block: block ?? answers.get(key)?.block ?? null,
        fault: block === null ? none() : null,
        readAt,
      }
      answers.set(key, answer)
      return answer
    })
  }

  const cached = (chainId: ChainId, finality: Finality, maxAgeMs: number): Answer | undefined => {
    const answer = answers.get(`${chainId} ${finality}`)
    return answer !== undefined && performance.now() - answer.readAt <= maxAgeMs ? answer : undefined
  }

  return {
    /**
     * Gives the newest block of a chain that is at least so final, at most a second old; null for `latest`. Throws
     * `service_unavailable` when no node reports one, and as `toServiceError` does when a node refuses the request.
     */
    async finalBlock(chainId: ChainId, finality: Finality): Promise<Block | null> {
      if (finality === 'latest') return null
      const known = cached(chainId, finality, BLOCK_MAX_AGE_MS)
      const { block, fault } = known?.fault === null ? known : await read(chainId, finality)
      if (fault !== null) throw fault
      return block
    },
    /**
     * Whether blocks of a time (Unix seconds; 0 for not mined yet) are final, so that no reorg can remove them. False
     * when no node has reported a final block.
     */
    async isFinal(chainId: ChainId, timestamp: number): Promise<boolean> {
      if (timestamp === 0) return false
      const known = cached(chainId, 'finalized', IS_FINAL_MAX_AGE_MS)
      const answer = known ?? (await read(chainId, 'finalized').catch(nullIfUnavailable))
      const block = (answer ?? answers.get(`${chainId} finalized`))?.block
      // Blocks may share a time, and the final one may be the first of them.
      return block != null && BigInt(timestamp) < block.timestamp
    },
  }
}

export type FinalityCache = ReturnType<typeof createFinality>

import type { Chain } from '../chain/chain.ts'
import { isUnavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/observe/log.ts'
import { startBlockFault } from '../protocol/chains.ts'

/** How often the head is read again, in milliseconds: while the start block is above it, and while no node answers. */
const ABOVE_HEAD_MS = 60_000
const NO_ANSWER_MS = 1_000

/**
 * Logs an error while the configured start block of a chain is above its newest block. Returns when it is not, or when
 * `signal` aborts.
 */
export const watchStartBlock = async (
  { chain, log }: { readonly chain: Chain; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      const fault = startBlockFault(chain.deployment, (await chain.head()).number)
      if (fault === null) return
      log.error({ chainId: chain.chainId, fault }, "the start block is above the chain's newest block")
      await sleep(ABOVE_HEAD_MS, signal)
    } catch (fault) {
      if (!isUnavailable(fault)) throw fault
      await sleep(NO_ANSWER_MS, signal)
    }
  }
}

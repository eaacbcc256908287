import type { Chain } from '../chain/chain.ts'
import { extendFees, readFeeProgress, restartFees } from '../db/index/fees.ts'
import type { Database } from '../db/pool.ts'
import { isUnavailable } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createDispute } from './dispute.ts'
import { ChainMoved, fetchFees } from './range.ts'

/** Fills the fee rates of a chain that the steps could not write. */
export type FeeHistory = {
  /**
   * Reads the rates of all blocks up to the cursor of which they are not known yet. Each request for logs is stored on
   * its own, so a later run continues there. Returns early when the chain moves, or nodes or the database are out of
   * reach. Throws what else nodes and database throw.
   */
  fill(signal: AbortSignal): Promise<void>
}

/**
 * There is something to fill on a database that was indexed before this log was followed, after a time without logs, and
 * where a node left logs out. No lease is needed, because a write is refused after a rollback or another write.
 *
 * @example await createFeeHistory({ chain, database, log }).fill(signal)
 */
export const createFeeHistory = (deps: {
  readonly chain: Chain
  readonly database: Database
  readonly log: Logger
}): FeeHistory => {
  const { chain, database, log } = deps
  const { chainId, deployment } = chain
  const dispute = createDispute({ chain, log })

  /** Requests logs once and stores their rates. Returns false when nothing is left to do. */
  const fillSome = async (): Promise<boolean> => {
    const progress = await readFeeProgress(database, chainId)
    if (progress === null) return false
    const { upTo, cursor } = progress
    if (upTo !== null && upTo.number >= cursor.number) return false
    const from = upTo === null ? deployment.startBlock : upTo.number + 1n
    const { before, block, fees } = await fetchFees(chain, { from, upTo: cursor.number })
    if (upTo !== null && before?.hash !== upTo.hash) {
      if ((await dispute.resolve(upTo)) === null) throw new ChainMoved(`block ${upTo.number} changed`)
      log.warn({ chainId, block: upTo.number.toString() }, 'the fee rates are of another fork: they are read again')
      await restartFees(database, chainId, progress)
      return true
    }
    if (block.number === cursor.number && block.hash !== cursor.hash)
      throw new ChainMoved(`block ${cursor.number} changed`)
    await extendFees(database, chainId, progress, { from, block, fees })
    log.info({ chainId, block: block.number.toString(), cursor: cursor.number.toString() }, 'filling fee rates')
    return true
  }

  return {
    async fill(signal) {
      try {
        while (!signal.aborted && chain.status().hasLogs && (await fillSome()));
      } catch (fault) {
        // The follower finds the reorg, or reports that nodes or the database are out of reach. The next run continues.
        if (!(fault instanceof ChainMoved || isUnavailable(fault))) throw fault
        log.debug({ chainId, fault: fault.message }, 'filling fee rates waits')
      }
    },
  }
}

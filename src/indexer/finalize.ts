import type { Chain } from '../chain/chain.ts'
import { type Block, getBlock } from '../chain/rpc/requests.ts'
import { finalizeSettlements, newestNotFinal } from '../db/index/settlements.ts'
import type { Database } from '../db/pool.ts'
import { nullIfUnavailable } from '../lib/errors.ts'

/** The newest block that no reorg replaces; null when no node returns it. */
export const finalBlock = async (chain: Pick<Chain, 'send'>): Promise<Block | null> => {
  const { finalized } = (await chain.send({ finalized: getBlock('finalized') }).catch(nullIfUnavailable)) ?? {}
  return finalized?.ok === true ? finalized.value : null
}

/**
 * Reports the settlements of a chain whose blocks became final. Asks the nodes only while there are others. Throws what
 * nodes and database throw; the next run continues. One transaction reports at most `most`.
 *
 * @example await reportFinalSettlements({ chain, database }, signal)
 */
export const reportFinalSettlements = async (
  { chain, database, most }: { readonly chain: Chain; readonly database: Database; readonly most?: number },
  signal: AbortSignal,
): Promise<void> => {
  const { chainId } = chain
  if ((await newestNotFinal(database, chainId)) === null) return
  const { finalized } = await chain.send({ finalized: getBlock('finalized') })
  if (!finalized.ok) throw finalized.error
  if (finalized.value === null) return
  const newest = await newestNotFinal(database, chainId, finalized.value.number)
  if (newest === null) return
  // The block of the newest settlement is on the chain of the nodes, so the blocks below it are as well.
  const { block } = await chain.send({ block: getBlock(newest.number) })
  if (!block.ok) throw block.error
  if (block.value?.hash !== newest.hash) return
  while (!signal.aborted && (await finalizeSettlements(database, chainId, newest, most)) > 0);
}

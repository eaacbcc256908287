import type { Chain } from '../chain/chain.ts'
import { type Block, getBlock } from '../chain/rpc/requests.ts'
import { finalizeSettlements, newestNotFinal } from '../db/index/settlements.ts'
import type { Database } from '../db/pool.ts'
import { nullIfUnavailable } from '../lib/errors.ts'
import { quorum } from './agreement.ts'

/** The newest block that no reorg replaces, as one node reports it; null when none does. */
export const finalBlock = async (chain: Pick<Chain, 'send'>): Promise<Block | null> => {
  const { finalized } = (await chain.send({ finalized: getBlock('finalized') }).catch(nullIfUnavailable)) ?? {}
  return finalized?.ok === true ? finalized.value : null
}

/** The blocks that endpoints return for a number or a tag. */
const blocksOf = async (chain: Pick<Chain, 'queryAllEndpoints'>, name: Parameters<typeof getBlock>[0]) => {
  const answers = await chain.queryAllEndpoints({ block: getBlock(name) })
  return answers.flatMap(({ endpoint, outcomes: { block } }) =>
    block.ok && block.value !== null ? [{ endpoint, ...block.value }] : [],
  )
}

/**
 * Reports the settlements of a chain whose blocks became final: two endpoints, or the only one that is configured, call
 * them final (decision 10). Asks the nodes only while there are others. Throws what nodes and database throw; the next
 * run continues. One transaction reports at most `most`.
 *
 * @example await reportFinalSettlements({ chain, database }, signal)
 */
export const reportFinalSettlements = async (
  { chain, database, most }: { readonly chain: Chain; readonly database: Database; readonly most?: number },
  signal: AbortSignal,
): Promise<void> => {
  const { chainId } = chain
  if ((await newestNotFinal(database, chainId)) === null) return
  const needed = quorum(chain)
  const claims = (await blocksOf(chain, 'finalized')).toSorted((a, b) => Number(b.number - a.number))
  const final = claims[needed - 1]
  if (final === undefined) return
  const newest = await newestNotFinal(database, chainId, final.number)
  if (newest === null) return
  // If the block of the newest settlement is on the chain of these endpoints, the blocks below it are as well.
  const claiming = claims.filter(({ number }) => number >= newest.number).map(({ endpoint }) => endpoint)
  const holders = (await blocksOf(chain, newest.number)).filter(
    ({ endpoint, hash }) => hash === newest.hash && claiming.includes(endpoint),
  )
  if (holders.length < needed) return
  while (!signal.aborted && (await finalizeSettlements(database, chainId, newest, most)) > 0);
}

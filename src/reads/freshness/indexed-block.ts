import type { Chain } from '../../chain/chain.ts'
import type { Queries } from '../../db/queries/entities.ts'
import type { Tip } from '../../db/queries/tips.ts'
import { nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { lagSecondsOf } from '../lag/lag.ts'

/** Whether an index with this lag counts as out of reach; a null lag is unknown. */
export const isStale = (lagSeconds: number | null, maxLagSeconds: number): boolean =>
  lagSeconds === null || lagSeconds > maxLagSeconds

/** The chains that still miss observations after a rollback. */
export const refreshingOf = (tips: readonly Tip[]): ChainId[] =>
  tips.flatMap(({ chainId, isRefreshing }) => (isRefreshing ? chainId : []))

/**
 * Reads the newest indexed block of a chain and its lag: behind the newest block of the nodes, or behind the clock when
 * no node is in reach. Throws `service_unavailable` when the chain is not indexed yet.
 */
export const indexedBlock = async (
  {
    chains,
    queries,
  }: { readonly chains: ReadonlyMap<ChainId, Pick<Chain, 'head'>>; readonly queries: Pick<Queries, 'indexed'> },
  chainId: ChainId,
) => {
  // Callers read rows after this, so the rows are at least as new as the block.
  const [block, head] = await Promise.all([
    queries.indexed(chainId),
    chains.get(chainId)?.head().catch(nullIfUnavailable),
  ])
  if (block === null) throw unavailable(`chain ${chainId} is not indexed yet`)
  const { timestamp } = head ?? { timestamp: BigInt(Math.floor(Date.now() / 1_000)) }
  return { block, lagSeconds: lagSecondsOf(block, { timestamp, ageSeconds: 0 }) }
}

/** The error for an index whose lag exceeds `maxLagSeconds`. */
export const laggingIndex = (chainId: ChainId, lagSeconds: number): Error =>
  unavailable(`the index of chain ${chainId} is ${lagSeconds} s behind`)

import type { Tip } from '../db/tips.ts'
import type { ChainId } from '../protocol/chains.ts'

/** A worker that has not looked at its chain for so long, in seconds, may have missed what happened since. */
const SILENT_SECONDS = 10

/**
 * How far the index is behind the chain as the worker saw it, in seconds, and with it how long ago that was when it is not lately; null when
 * it never saw the chain. No node is asked.
 */
export const lagSecondsOf = ({ block, head }: Pick<Tip, 'block' | 'head'>): number | null => {
  if (head === null) return null
  const behind = Math.max(0, Number(head.timestamp - block.timestamp))
  return head.ageSeconds > SILENT_SECONDS ? behind + Math.floor(head.ageSeconds) : behind
}

/** Whether an index that is so far behind counts as out of reach. */
export const isStale = (lagSeconds: number | null, maxLagSeconds: number): boolean =>
  lagSeconds === null || lagSeconds > maxLagSeconds

/** The chains of which observations are missing after a rollback. */
export const refreshingOf = (tips: readonly Tip[]): ChainId[] =>
  tips.flatMap(({ chainId, isRefreshing }) => (isRefreshing ? chainId : []))

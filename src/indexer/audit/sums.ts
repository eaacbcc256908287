import type { Database } from '../../db/pool.ts'
import { differentSums, summedDays } from '../../db/queries/audit-sums.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { PAUSE_MS } from './confirm.ts'

/** The number of compared days, and their differences. */
export type ComparedSums = { readonly days: number; readonly differences: readonly string[] }

/**
 * Compares the sums of a chain's ledger by day with the rows of the ledger. It reads the database only. A difference counts
 * when a second comparison finds it too, because a rollback or a repair makes sums again. Throws `service_unavailable` when
 * the database is out of reach.
 */
export const compareSums = async (
  database: Pick<Database, 'run' | 'rows'>,
  chainId: ChainId,
  pauseMs = PAUSE_MS,
): Promise<ComparedSums> => {
  const range = await summedDays(database, chainId)
  if (range === null) return { days: 0, differences: [] }
  const differences: string[] = []
  for (let day = range.first; day <= range.last; day += 1n) {
    const found = await differentSums(database, chainId, day)
    if (found.length === 0) continue
    await sleep(pauseMs)
    const again = new Set(await differentSums(database, chainId, day))
    differences.push(...found.filter((difference) => again.has(difference)))
  }
  return { days: Number(range.last - range.first) + 1, differences }
}

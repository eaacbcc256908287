import type { ChainId } from '../../protocol/chains.ts'
import { listings, pageFor } from './listings.ts'
import type { Row } from './records.ts'
import type { ListSources } from './sources.ts'

const events = listings.find(({ kind }) => kind === 'event')

/**
 * The newest open events of some chains whose protection can be bought, with their pools, at most `limit`. Throws
 * `service_unavailable` when the database is out of reach or a chain is not indexed.
 */
export const openEvents = async (
  sources: ListSources,
  chainId: readonly ChainId[],
  limit: number,
): Promise<readonly Row[]> => {
  if (events === undefined || chainId.length === 0) return []
  const query = { state: 'open', poolOpen: true, capacityFrom: 1n, limit } as const
  return (await pageFor(sources, events, { ...query, chainId: [...chainId], include: ['utilization'] }, null)).rows
}

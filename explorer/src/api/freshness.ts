import { type Query, useQueryClient } from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/hooks'

/** What was asked of the API, as far as its freshness is concerned. `isActive`: a part of the page shows it. */
type Asked = Pick<Query, 'isActive'> & { readonly state: Pick<Query['state'], 'status' | 'data' | 'dataUpdatedAt'> }

/**
 * Since when values that are shown are not updated, because the reads after them failed: the oldest of these times in
 * Unix seconds; null while every value is up to date.
 *
 * @internal
 */
export const notUpdatedSince = (asked: readonly Asked[]): number | null => {
  const times = asked
    .filter((query) => query.isActive() && query.state.status === 'error' && query.state.data !== undefined)
    .map(({ state }) => state.dataUpdatedAt / 1_000)
  return times.length === 0 ? null : Math.min(...times)
}

/** The same for this page, kept up to date. */
export const useNotUpdatedSince = (): number | null => {
  const cache = useQueryClient().getQueryCache()
  const [since, setSince] = useState<number | null>(null)
  useEffect(() => cache.subscribe(() => setSince(notUpdatedSince(cache.getAll()))), [cache])
  return since
}

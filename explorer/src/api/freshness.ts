import { type QueryCache, useQueryClient } from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/hooks'

/**
 * Since when values that are shown are not updated, because the reads after them failed: the oldest of these times in
 * Unix seconds; null while every value is up to date.
 *
 * @internal
 */
export const notUpdatedSince = (cache: QueryCache): number | null => {
  const times = cache
    .findAll({ type: 'active', predicate: ({ state }) => state.status === 'error' && state.data !== undefined })
    .map(({ state }) => state.dataUpdatedAt / 1_000)
  return times.length === 0 ? null : Math.min(...times)
}

/** The same for this page, kept up to date. */
export const useNotUpdatedSince = (): number | null => {
  const cache = useQueryClient().getQueryCache()
  const [since, setSince] = useState<number | null>(null)
  useEffect(() => cache.subscribe(() => setSince(notUpdatedSince(cache))), [cache])
  return since
}

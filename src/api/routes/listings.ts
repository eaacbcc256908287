import { shownFields, showsValues } from '../../protocol/rows.ts'
import { afterRefresh, awaitIndex } from '../../reads/freshness/consistency.ts'
import { freshnessHeaders } from '../../reads/freshness/freshness.ts'
import { listings, pageFor } from '../../reads/lists/listings.ts'
import { chainsOf, pageResource } from '../../reads/lists/resource.ts'
import type { ListSources } from '../../reads/lists/sources.ts'
import { clientOf } from '../client.ts'
import { type CsvAnswers, chooseFormat } from '../csv/answers.ts'
import { tableOf } from '../csv/columns.ts'
import { linkHeader } from '../link.ts'
import { listHeaderNames, listingEnvelope, type Operation, route } from '../operation.ts'
import { areFinal, type CachedRoutes, LAG_MAX_AGE_MS, PAST, REVALIDATE } from '../response-cache/cache.ts'
import { markReverted } from '../reverted.ts'

/** Mounts every list of whole records. */
export const listingRoutes: CachedRoutes<{ readonly sources: ListSources; readonly csv: CsvAnswers }> = async (
  app,
  options,
) => {
  const { sources, waits, turns, cache, csv } = options
  for (const listing of listings) {
    const { path, tag, summary, kind, query, row, data } = listing
    const name = path.slice(path.lastIndexOf('/') + 1)
    const operation: Operation = {
      tag,
      summary,
      description:
        'Returns a paginated list from the index, by default in order of creation, newest first. Paginate with `meta.nextCursor`: the pages contain every row that existed at the first page exactly once, and none that was created later.',
      headers: listHeaderNames,
      failures: ['reorged'],
      csv: (include) => tableOf(name, row, shownFields(include)),
    }
    app.get<{ Querystring: Parameters<typeof pageFor>[2] }>(
      path,
      { ...route(operation, listingEnvelope(data), { querystring: query }), preValidation: chooseFormat },
      async (request, reply) => {
        const client = clientOf(request)
        const chainIds = chainsOf(request.query.chainId)
        const atLeast = await awaitIndex(waits, client, chainIds, request.query, { observed: true })
        const reverted = markReverted(reply, atLeast)
        const read = (page: Partial<typeof request.query> = {}) =>
          afterRefresh(waits, client, () =>
            turns.page(client, () => pageFor(sources, listing, { ...request.query, ...page }, atLeast?.block ?? null)),
          )
        if (request.query.format === 'csv')
          return csv.send(request, reply, tableOf(name, row, shownFields(request.query.include ?? [])), read)
        // The cache follows the present.
        const isPast = request.query.at !== undefined
        const resource = isPast ? null : pageResource(kind, request.query)
        if (resource !== null && (await cache.check(resource, request, reply))) return reply
        const page = await read()
        const { rows, freshness, isIndexed } = page
        const isLive = showsValues(request.query.include)
        const meta = { ...page.meta, ...reverted }
        const link = linkHeader(request.url, meta.nextCursor)
        const isLasting = isPast && isIndexed && (await areFinal(sources.finality, meta.asOf))
        const caching = isLive ? 'no-store' : isLasting ? PAST : REVALIDATE
        reply.headers({ ...freshnessHeaders(freshness), ...link, 'cache-control': caching })
        if (isIndexed && !isPast) cache.tag(request, reply, freshness, LAG_MAX_AGE_MS)
        reply.type('application/json; charset=utf-8')
        return reply.send(JSON.stringify({ data: rows, meta }))
      },
    )
  }
}

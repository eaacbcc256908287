import type { FastifyPluginAsync } from 'fastify'
import { afterRefresh, awaitIndex } from '../../reads/consistency.ts'
import { freshnessHeaders } from '../../reads/freshness.ts'
import { chainsOf, pageResource } from '../../reads/listing-resource.ts'
import { listings, pageFor } from '../../reads/listings.ts'
import type { Sources } from '../../reads/read.ts'
import type { Waits } from '../../reads/waits.ts'
import { errorResponses, listingEnvelope } from '../envelope.ts'
import { linkHeader } from '../link.ts'
import { freshnessHeaderNames, type Operation } from '../operation.ts'
import { DATED_MS, REVALIDATE, type ResponseCache } from '../response-cache/cache.ts'
import { waiterOf } from '../waiter.ts'

/** Mounts every list of whole records. Their rows come as text, so the body is put together and not serialised. */
export const listingRoutes: FastifyPluginAsync<{
  readonly sources: Sources
  readonly waits: Waits
  readonly cache: ResponseCache
}> = async (app, { sources, waits, cache }) => {
  for (const listing of listings) {
    const { path, tag, summary, kind, query, data } = listing
    const schema = { querystring: query, response: { 200: listingEnvelope(data), ...errorResponses } }
    const operation: Operation = {
      tag,
      summary,
      description:
        'From the index, in the order of creation. A walk by `meta.nextCursor` gives every row that was there at its first page once, whatever is created meanwhile.',
      failures: ['service_unavailable'],
      headers: [...freshnessHeaderNames, 'X-Index-Lag', 'Link', 'ETag', 'Cache-Control', 'Vary', 'Server-Timing'],
    }
    app.get<{ Querystring: Parameters<typeof pageFor>[2] }>(
      path,
      { schema, config: { operation } },
      async (request, reply) => {
        const waiter = waiterOf(request)
        const atLeast = await awaitIndex(waits, waiter, chainsOf(request.query.chainId), query, request.query, {
          observed: true,
        })
        const resource = pageResource(kind, request.query)
        if (resource !== null && cache.check(resource, request, reply)) return reply
        const page = await afterRefresh(waits, waiter, () => pageFor(sources, listing, request.query, atLeast))
        const { rows, meta, freshness, isIndexed } = page
        reply.headers({ ...freshnessHeaders(freshness), 'cache-control': REVALIDATE })
        reply.headers(linkHeader(request.url, meta.nextCursor))
        if (isIndexed) cache.tag(request, reply, freshness, DATED_MS)
        reply.type('application/json; charset=utf-8')
        return reply.send(`{"data":[${rows.join()}],"meta":${JSON.stringify(meta)}}`)
      },
    )
  }
}

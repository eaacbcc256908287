import type { FastifyPluginAsync } from 'fastify'
import { freshnessHeaders } from '../../reads/freshness.ts'
import { listings, pageFor } from '../../reads/listings.ts'
import type { Sources } from '../../reads/read.ts'
import { errorResponses, listingEnvelope } from '../envelope.ts'
import type { Operation } from '../operation.ts'

/** The request's own address with another cursor. */
const nextOf = (url: string, cursor: string): string => {
  const [path, search = ''] = url.split('?', 2)
  const others = search.split('&').filter((part) => part !== '' && !part.startsWith('cursor='))
  return `<${path}?${[...others, `cursor=${cursor}`].join('&')}>; rel="next"`
}

/** Mounts every list of whole records. Their rows come as text, so the body is put together and not serialised. */
export const listingRoutes: FastifyPluginAsync<{ readonly sources: Sources }> = async (app, { sources }) => {
  for (const listing of listings) {
    const { path, tag, summary, query, data } = listing
    const schema = { querystring: query, response: { 200: listingEnvelope(data), ...errorResponses } }
    const operation: Operation = {
      tag,
      summary,
      description:
        'From the index, in the order of creation. A walk by `meta.nextCursor` gives every row that was there at its first page once, whatever is created meanwhile.',
      failures: ['service_unavailable'],
      headers: [
        'X-Data-Source',
        'X-Block-Number',
        'X-Block-Hash',
        'X-Block-Timestamp',
        'X-Stale',
        'X-Index-Lag',
        'Link',
      ],
    }
    app.get<{ Querystring: Parameters<typeof pageFor>[2] }>(
      path,
      { schema, config: { operation } },
      async (request, reply) => {
        const { rows, meta, freshness, lagSeconds } = await pageFor(sources, listing, request.query)
        reply.headers(freshnessHeaders(freshness))
        if (lagSeconds !== null) reply.header('x-index-lag', String(lagSeconds))
        if (meta.nextCursor !== null) reply.header('link', nextOf(request.url, meta.nextCursor))
        reply.type('application/json; charset=utf-8')
        return reply.send(`{"data":[${rows.join()}],"meta":${JSON.stringify(meta)}}`)
      },
    )
  }
}

import { z } from 'zod'
import { awaitIndex } from '../../reads/freshness/consistency.ts'
import { type Freshness, freshnessHeaders } from '../../reads/freshness/freshness.ts'
import {
  feedOf,
  filterOf,
  resumeAt,
  Settlement,
  type SettlementSources,
  SettlementsMeta,
  SettlementsQuery,
  settlementsPage,
  startOf,
} from '../../reads/listings/settlements.ts'
import { addressOf, clientOf } from '../client.ts'
import { type Operation, route } from '../operation.ts'
import { type CachedRoutes, LAG_MAX_AGE_MS, REVALIDATE } from '../response-cache/cache.ts'
import { markReverted } from '../reverted.ts'
import { isStream, type Streams } from '../streams.ts'

const operation: Operation = {
  tag: 'Events',
  summary: 'List or stream settlements',
  description: [
    'Returns the settlements after a position in the feed, in the order in which the index found them. A settlement that a reorg removes is',
    'reported once as `reverted`. Poll with `since=meta.nextCursor` and `If-None-Match`, or send `Accept: text/event-stream` to receive the',
    'same items as server-sent events. The `id` of an event is its cursor, and `Last-Event-ID` resumes after it. The last event of a stream is',
    '`dropped` (the client read too slowly, or the database is out of reach) or `end` (the service restarts).',
  ].join(' '),
  headers: ['X-Data-Source', 'X-Index-Lag', 'X-Transaction', 'Cache-Control', 'Vary', 'Server-Timing', 'ETag'],
}

const success = z.object({ data: z.array(Settlement), meta: SettlementsMeta })

/** `/hedge/settlements`: the feed of settlements, in pages or as a stream. */
export const settlementRoutes: CachedRoutes<{
  readonly sources: SettlementSources
  readonly streams: Streams
}> = async (app, options) => {
  const { sources, waits, cache, streams } = options
  app.addHook('preClose', async () => streams.close())

  app.get<{ Querystring: SettlementsQuery }>(
    '/hedge/settlements',
    route(operation, success, { querystring: SettlementsQuery }),
    async (request, reply) => {
      const { query, headers } = request
      const filter = filterOf(query)
      const atLeast = await awaitIndex(waits, clientOf(request), filter.chainIds, query, { observed: true })
      const reverted = markReverted(reply, atLeast)

      if (isStream(headers.accept)) {
        const resumed = headers['last-event-id']
        const after = typeof resumed === 'string' ? resumeAt(resumed) : await startOf(sources, query.since)
        reply.headers({
          'content-type': 'text/event-stream; charset=utf-8',
          'x-accel-buffering': 'no',
          // A stream cannot be cached.
          'cache-control': 'no-store',
          'x-data-source': 'database',
        })
        if (request.method === 'HEAD') return reply.send()
        // No `await` from here on: otherwise concurrent requests could exceed the limit.
        const address = addressOf(request)
        streams.requireCapacity(address)
        reply.hijack()
        reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>)
        streams.open(reply.raw, address, after, filter)
        return reply
      }

      if (cache.check(feedOf(filter.chainIds), request, reply)) return reply
      const page = await settlementsPage(sources, query)
      const lagSeconds = Math.max(...page.meta.asOf.map((it) => it.lagSeconds))
      const freshness: Freshness = { source: 'database', stale: false, lagSeconds }
      reply.headers({ ...freshnessHeaders(freshness), 'cache-control': REVALIDATE })
      cache.tag(request, reply, freshness, LAG_MAX_AGE_MS)
      return { data: page.data, meta: { ...page.meta, ...reverted } }
    },
  )
}

import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { awaitIndex } from '../../reads/consistency.ts'
import { type Freshness, freshnessHeaders } from '../../reads/freshness.ts'
import type { Sources } from '../../reads/read.ts'
import {
  feedOf,
  filterOf,
  resumeAt,
  Settlement,
  SettlementsMeta,
  SettlementsQuery,
  settlementsPage,
  startOf,
} from '../../reads/settlements.ts'
import type { Waits } from '../../reads/waits.ts'
import { errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'
import { DATED_MS, NEVER, REVALIDATE, type ResponseCache } from '../response-cache/cache.ts'
import { isStream, type Streams } from '../streams.ts'
import { clientOf, waiterOf } from '../waiter.ts'

const operation: Operation = {
  tag: 'Events',
  summary: 'Settlements, as they happen',
  description: [
    'What was settled since a place in the feed, in the order it was seen; a settlement that left the chain is told once as `reverted`.',
    'Poll with `since=meta.nextCursor` and `If-None-Match`, or ask with `Accept: text/event-stream` for the same items as a stream:',
    "`id` is the cursor, `Last-Event-ID` goes on after it; `dropped` and `end` are the stream's last words.",
  ].join(' '),
  failures: ['service_unavailable'],
  headers: ['X-Data-Source', 'X-Index-Lag', 'Cache-Control', 'Vary', 'Server-Timing', 'ETag'],
}

/** `/hedge/settlements`: the feed in pages, or as a stream of events. */
export const settlementRoutes: FastifyPluginAsync<{
  readonly sources: Sources
  readonly waits: Waits
  readonly cache: ResponseCache
  readonly streams: Streams
}> = async (app, { sources, waits, cache, streams }) => {
  const success = z.object({ data: z.array(Settlement), meta: SettlementsMeta })
  const schema = { querystring: SettlementsQuery, response: { 200: success, ...errorResponses } }
  app.addHook('preClose', async () => streams.close())

  app.get<{ Querystring: SettlementsQuery }>(
    '/hedge/settlements',
    { schema, config: { operation } },
    async (request, reply) => {
      const { query, headers } = request
      const filter = filterOf(query)
      await awaitIndex(waits, waiterOf(request), filter.chainIds, SettlementsQuery, query, { observed: true })

      if (isStream(headers.accept)) {
        const resumed = headers['last-event-id']
        const after = typeof resumed === 'string' ? resumeAt(resumed) : await startOf(sources, query.since)
        reply.headers({
          'content-type': 'text/event-stream; charset=utf-8',
          'x-accel-buffering': 'no',
          'cache-control': NEVER,
          'x-data-source': 'database',
        })
        if (request.method === 'HEAD') return reply.send()
        // Nothing is awaited from here on, or many could come in together where there is room for one.
        const client = clientOf(request)
        streams.makeRoom(client)
        reply.hijack()
        reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>)
        streams.open(reply.raw, client, after, filter)
        return reply
      }

      if (cache.check(feedOf(filter.chainIds), request, reply)) return reply
      const page = await settlementsPage(sources, query)
      const lagSeconds = Math.max(...page.meta.asOf.map((it) => it.lagSeconds))
      const freshness: Freshness = { source: 'database', stale: false, lagSeconds }
      reply.headers({ ...freshnessHeaders(freshness), 'cache-control': REVALIDATE })
      cache.tag(request, reply, freshness, DATED_MS)
      return page
    },
  )
}

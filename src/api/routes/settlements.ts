import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Address } from 'viem'
import { z } from 'zod'
import type { SettlementFilter } from '../../db/queries/settlements.ts'
import { invalidField } from '../../lib/errors.ts'
import { noLastEventId } from '../../reads/feeds/meta.ts'
import {
  feedOf,
  filterOf,
  resumeAt,
  Settlement,
  type SettlementSources,
  SettlementsMeta,
  SettlementsQuery,
  StreamQuery,
  settlementsPage,
  startOf,
} from '../../reads/feeds/settlements.ts'
import { awaitIndex, DEFAULT_WAIT_MS, untilRefreshed } from '../../reads/freshness/consistency.ts'
import { type Freshness, freshnessHeaders } from '../../reads/freshness/freshness.ts'
import type { Client } from '../../reads/freshness/waits.ts'
import type { ListSources } from '../../reads/lists/sources.ts'
import { claimablesOf } from '../../reads/portfolio/parts.ts'
import { isStream } from '../accept.ts'
import { clientOf } from '../client.ts'
import { type Operation, route } from '../operation.ts'
import { type CachedRoutes, LAG_MAX_AGE_MS, REVALIDATE } from '../response-cache/cache.ts'
import { markReverted } from '../reverted.ts'
import { openStream, requireNoLimit, resumedFrom } from '../streams/open.ts'
import type { Streams } from '../streams/shared.ts'

const operation: Operation = {
  tag: 'Events',
  summary: 'List or stream settlements',
  description: [
    'Returns the settlements after a position in the feed, in the order in which the index found them. A settlement that a reorg removes is',
    'reported once as `reverted`. Poll with `since=meta.nextCursor` and `If-None-Match`, or send `Accept: text/event-stream` to receive the',
    'same items as server-sent events, as `/v1/hedge/settlements/stream` sends them.',
  ].join(' '),
  headers: ['X-Data-Source', 'X-Index-Lag', 'X-Transaction', 'Cache-Control', 'Vary', 'Server-Timing', 'ETag'],
}

const streamOperation: Operation = {
  tag: 'Events',
  summary: 'Stream settlements',
  description: [
    'Sends the settlements after a position in the feed as server-sent events, and then each new one when the index finds it. The items are',
    'those of `/v1/hedge/settlements`. The first event is `position`: its id is where the stream begins. Connect again with',
    '`Last-Event-ID` (or with `lastEventId`, or with `since`) to resume after the last event that arrived: no item is lost or repeated,',
    'unless the database lost rows in a failover or a restore. A comment is sent every 15 seconds. The last event of a stream is `dropped`',
    '(the client read too slowly, or the database is out of reach) or `end` (the service restarts).',
  ].join(' '),
  headers: ['X-Data-Source', 'X-Transaction', 'Cache-Control', 'Vary'],
  stream: true,
}

const success = z.object({ data: z.array(Settlement), meta: SettlementsMeta })

/** `/hedge/settlements`: the feed of settlements, in pages or as a stream, and `/hedge/settlements/stream`. */
export const settlementRoutes: CachedRoutes<{
  readonly sources: SettlementSources
  readonly lists: ListSources
  /** The streams of each feed. */
  readonly streams: Readonly<Record<'latest' | 'finalized', Streams<SettlementFilter>>>
}> = async (app, options) => {
  const { sources, lists, waits, turns, cache, streams } = options
  app.addHook('preClose', async () => {
    for (const each of Object.values(streams)) each.close()
  })

  /** Waits as the query asks. Returns the `meta` of a reverted transaction. */
  const awaited = async (request: FastifyRequest<{ Querystring: StreamQuery }>, reply: FastifyReply) => {
    const { chainIds } = filterOf(request.query)
    return markReverted(reply, await awaitIndex(waits, clientOf(request), chainIds, request.query, { observed: true }))
  }

  const sendStream = async (request: FastifyRequest<{ Querystring: StreamQuery }>, reply: FastifyReply) => {
    const { query } = request
    const filter = filterOf(query)
    const resumed = resumedFrom(request, query.lastEventId, resumeAt)
    const begin = async () => {
      await awaited(request, reply)
      const seq = await startOf(sources, resumed?.cursor ?? query.since, resumed?.name)
      return { after: { epoch: '', seq } }
    }
    return openStream(streams[query.finality ?? 'latest'], request, reply, begin, filter)
  }

  /** Adds what wallets can claim from the events of settlements, once the index has observed it. */
  const withClaimables = async (client: Client, items: readonly Settlement[], wallets: readonly Address[]) => {
    const chainIds = [...new Set(items.map(({ chainId }) => chainId))]
    if (chainIds.length === 0) return { data: items, claimablesComplete: true }
    const deadline = performance.now() + DEFAULT_WAIT_MS
    for (const chainId of chainIds)
      await waits.during(chainId, client, (polls, signal) =>
        untilRefreshed(polls, `settlements of chain ${chainId}`, { deadline, signal }),
      )
    const { claimables, isComplete } = await turns.long(client, () => claimablesOf(lists, { wallets, chainIds }))
    const data = items.map((item) => ({
      ...item,
      claimables: claimables.filter((it) => it.chainId === item.chainId && it.eventId === item.eventId),
    }))
    return { data, claimablesComplete: isComplete }
  }

  app.get<{ Querystring: StreamQuery }>(
    '/hedge/settlements/stream',
    route(streamOperation, z.string(), { querystring: StreamQuery }),
    sendStream,
  )

  app.get<{ Querystring: SettlementsQuery }>(
    '/hedge/settlements',
    route(operation, success, { querystring: SettlementsQuery }),
    async (request, reply) => {
      const { query, headers } = request
      const { chainIds, wallets } = filterOf(query)
      if (isStream(headers.accept)) {
        if (wallets !== undefined) throw invalidField('wallet', 'expected no value: streams do not have this filter')
        requireNoLimit(request)
        return sendStream(request, reply)
      }
      if (query.lastEventId !== undefined) throw noLastEventId()
      const reverted = await awaited(request, reply)
      // The position of `now` moves without a settlement, so that response is not checked, and gets no tag.
      if (query.since !== 'now' && (await cache.check(feedOf(chainIds, wallets), request, reply))) return reply
      const client = clientOf(request)
      const page = await turns.page(client, () => settlementsPage(sources, query))
      const { data, ...complete } =
        wallets === undefined ? { data: page.data } : await withClaimables(client, page.data, wallets)
      const lagSeconds = Math.max(...page.meta.asOf.map((it) => it.lagSeconds))
      const freshness: Freshness = { source: 'database', stale: false, lagSeconds }
      reply.headers({ ...freshnessHeaders(freshness), 'cache-control': REVALIDATE })
      cache.tag(request, reply, freshness, LAG_MAX_AGE_MS)
      return { data, meta: { ...page.meta, ...complete, ...reverted } }
    },
  )
}

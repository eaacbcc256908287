import { activityOf, activityResource } from '../../reads/activity/activity.ts'
import { ActivityQuery } from '../../reads/activity/query.ts'
import { Activity, ActivityPage } from '../../reads/activity/records.ts'
import { awaitIndex } from '../../reads/freshness/consistency.ts'
import { freshnessHeaders } from '../../reads/freshness/freshness.ts'
import { chainsOf } from '../../reads/lists/resource.ts'
import type { ListSources } from '../../reads/lists/sources.ts'
import { clientOf } from '../client.ts'
import { type CsvAnswers, chooseFormat } from '../csv/answers.ts'
import { tableOf } from '../csv/columns.ts'
import { linkHeader } from '../link.ts'
import { listHeaderNames, type Operation, route } from '../operation.ts'
import { type CachedRoutes, LAG_MAX_AGE_MS, REVALIDATE } from '../response-cache/cache.ts'
import { markReverted } from '../reverted.ts'

const table = tableOf('activity', Activity)

const operation: Operation = {
  tag: 'Activity',
  summary: 'List activity',
  description:
    'Returns what happened, one row for each log of the protocol, newest first by default. Paginate with `meta.nextCursor`: the pages contain every row that existed at the first page exactly once, and none of a later block.',
  headers: [...listHeaderNames, 'X-Complete-From'],
  failures: ['reorged'],
  csv: () => table,
}

/** Mounts the list of activity. */
export const activityRoutes: CachedRoutes<{ readonly sources: ListSources; readonly csv: CsvAnswers }> = async (
  app,
  options,
) => {
  const { sources, waits, turns, cache, csv } = options
  app.get<{ Querystring: ActivityQuery }>(
    '/activity',
    { ...route(operation, ActivityPage, { querystring: ActivityQuery }), preValidation: chooseFormat },
    async (request, reply) => {
      const { query } = request
      const client = clientOf(request)
      const atLeast = await awaitIndex(waits, client, chainsOf(query.chainId), query)
      const reverted = markReverted(reply, atLeast)
      const read = (page: Partial<ActivityQuery> = {}) =>
        turns.page(client, () => activityOf(sources, { ...query, ...page }, atLeast?.block ?? null))
      if (query.format === 'csv') return csv.send(request, reply, table, read)
      const resource = activityResource(query)
      if (resource !== null && (await cache.check(resource, request, reply))) return reply
      const page = await read()
      const meta = { ...page.meta, ...reverted }
      const link = linkHeader(request.url, meta.nextCursor)
      reply.headers({ ...freshnessHeaders(page.freshness), ...link, 'cache-control': REVALIDATE })
      // Logs that fill a gap can be of none of its wallets and events.
      if (page.meta.completeFrom === undefined) cache.tag(request, reply, page.freshness, LAG_MAX_AGE_MS)
      return reply.type('application/json; charset=utf-8').send(JSON.stringify({ data: page.rows, meta }))
    },
  )
}

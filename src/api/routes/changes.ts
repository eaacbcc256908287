import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { FeedFilter } from '../../db/queries/feed.ts'
import {
  Change,
  ChangesBody,
  ChangesMeta,
  ChangesQuery,
  type ChangesSources,
  ChangesStreamQuery,
  changesPage,
  cursorOf,
  filterOf,
  subjectsOf,
} from '../../reads/feeds/changes.ts'
import { noLastEventId } from '../../reads/feeds/meta.ts'
import type { ReadTurns } from '../../reads/turns.ts'
import { isStream } from '../accept.ts'
import { clientOf } from '../client.ts'
import { type Operation, route } from '../operation.ts'
import type { changeStream } from '../streams/changes.ts'
import { openStream, requireNoLimit, resumedFrom } from '../streams/open.ts'
import type { Streams } from '../streams/shared.ts'

const about: Operation = {
  tag: 'Changes',
  summary: 'List what changed',
  description: [
    'Returns the wallets and events that changed after a position of the feed. Each aspect in `changed` of a subject appears once, at its',
    'newest change. Who fetches again what the feed names, and nothing else, has the same state as a full fetch. Continue with',
    '`since=meta.nextCursor`; a cursor never expires. Where `meta.reset` is true, fetch everything again that you keep of the chains in',
    '`meta.resets`. With `Accept: text/event-stream`, the response is the stream that `/v1/changes/stream` sends. For some wallets or events',
    'only, use `POST /v1/changes`.',
  ].join(' '),
  headers: ['Cache-Control', 'Server-Timing'],
}

const aboutSome: Operation = {
  ...about,
  summary: 'List what changed of up to 1000 wallets or events',
  description:
    'Returns the same as `GET /v1/changes`, of the given wallets, or of the given events of a chain. Requires one of `wallets` and `eventIds`.',
}

const aboutStream: Operation = {
  tag: 'Changes',
  summary: 'Stream what changed',
  description: [
    'Sends the changes after a position of the feed as server-sent events `change`, and then each new one when the index has it. A `reset`',
    'names a chain of which everything has to be fetched again. The first event is `position`: its id is where the stream begins.',
    'Connect again with `Last-Event-ID` (or with `lastEventId`, or with `since`) to resume. A comment is sent every 15 seconds. The last event of a stream is `dropped` (the client read too slowly, or the database is out of reach) or `end`',
    '(the service restarts).',
  ].join(' '),
  headers: ['X-Data-Source', 'Cache-Control'],
  stream: true,
}

const success = z.object({ data: z.array(Change), meta: ChangesMeta })

/** `/changes`: the feed of changes, in pages, for some wallets or events, and as a stream. */
export const changeRoutes: FastifyPluginAsync<{
  readonly sources: ChangesSources
  readonly resume: ReturnType<typeof changeStream>['resume']
  readonly streams: Streams<FeedFilter>
  readonly turns: ReadTurns
}> = async (app, { sources, resume, streams, turns }) => {
  app.addHook('preClose', async () => streams.close())

  const sendStream = async (
    request: FastifyRequest<{ Querystring: z.output<typeof ChangesStreamQuery> }>,
    reply: FastifyReply,
  ) => {
    const { query } = request
    const filter = filterOf(query)
    const from = resumedFrom(request, query.lastEventId, cursorOf)?.cursor ?? query.since
    return openStream(streams, request, reply, () => resume(from, filter), filter)
  }

  app.get<{ Querystring: z.output<typeof ChangesQuery> }>(
    '/changes',
    route(about, success, { querystring: ChangesQuery }),
    async (request, reply) => {
      const { query, headers } = request
      reply.header('cache-control', 'no-store')
      if (isStream(headers.accept)) {
        requireNoLimit(request)
        return sendStream(request, reply)
      }
      if (query.lastEventId !== undefined) throw noLastEventId()
      return turns.page(clientOf(request), () => changesPage(sources, query.since, filterOf(query), query.limit))
    },
  )

  app.post<{ Body: z.output<typeof ChangesBody> }>(
    '/changes',
    { ...route(aboutSome, success, { body: ChangesBody }), bodyLimit: SUBJECTS_LIMIT },
    async (request, reply) => {
      const { body } = request
      reply.header('cache-control', 'no-store')
      return turns.long(clientOf(request), () => changesPage(sources, body.since, subjectsOf(body), body.limit))
    },
  )

  app.get<{ Querystring: z.output<typeof ChangesStreamQuery> }>(
    '/changes/stream',
    route(aboutStream, z.string(), { querystring: ChangesStreamQuery }),
    sendStream,
  )
}

/** Size of the largest body in bytes: 1,000 addresses with room for blanks. */
const SUBJECTS_LIMIT = 65_536

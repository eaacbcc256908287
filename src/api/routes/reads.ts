import type { FastifyPluginAsync } from 'fastify'
import { notFound } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { freshnessHeaders } from '../../reads/freshness.ts'
import type { Read, Sources } from '../../reads/read.ts'
import { reads } from '../../reads/table.ts'
import { envelope, errorResponses, pagedEnvelope } from '../envelope.ts'
import type { Operation } from '../operation.ts'

type Route = { Params: Record<string, unknown>; Querystring: Record<string, unknown> }

const operationOf = (read: Read, chainId: ChainId): Operation => {
  const { tag, summary, description } = read
  return {
    tag,
    summary,
    description,
    failures: ['upstream_error', 'service_unavailable'],
    headers: ['X-Data-Source', 'X-Block-Number', 'X-Block-Hash', 'X-Block-Timestamp', 'X-Stale'],
    ...(read.missing && { missing: (keys) => read.missing?.({ chainId, ...read.params.parse(keys) }) ?? '' }),
  }
}

/** Mounts every row of the table of reads. */
export const readRoutes: FastifyPluginAsync<{
  readonly sources: Sources
  readonly defaultChainId: ChainId
}> = async (app, { sources, defaultChainId }) => {
  for (const read of reads) {
    const success = read.paged ? pagedEnvelope(read.data) : envelope(read.data)
    const schema = { params: read.params, querystring: read.query, response: { 200: success, ...errorResponses } }
    const operation = operationOf(read, defaultChainId)
    app.get<Route>(read.path, { schema, config: { operation } }, async (request, reply) => {
      const answer = await read.answer(sources, { chainId: defaultChainId, ...request.query, ...request.params })
      reply.headers(freshnessHeaders(answer.freshness))
      if ('missing' in answer) throw notFound(answer.missing)
      return answer.meta === undefined ? { data: answer.data } : { data: answer.data, meta: answer.meta }
    })
  }
}

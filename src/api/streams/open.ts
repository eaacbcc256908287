import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidField } from '../../lib/errors.ts'
import { addressOf, onResponseEnd } from '../client.ts'
import type { StreamStart, Streams } from './shared.ts'

/**
 * Answers a request with a stream that starts where `begin` resolves to. Takes a place before `begin`, so that a refusal
 * costs neither a wait nor a query. Throws as `Streams.reserve` does.
 */
export const openStream = async <F>(
  streams: Streams<F>,
  request: FastifyRequest,
  reply: FastifyReply,
  begin: () => Promise<StreamStart>,
  filter: F,
): Promise<FastifyReply> => {
  const address = addressOf(request)
  onResponseEnd(reply.raw, streams.reserve(address))
  const from = await begin()
  reply.headers({
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
    // A stream cannot be cached.
    'cache-control': 'no-store',
    'x-data-source': 'database',
  })
  if (request.method === 'HEAD') return reply.send()
  reply.hijack()
  reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>)
  streams.open(reply.raw, address, from, filter)
  return reply
}

/**
 * Where a client resumes a stream, and the name of the field with the position: `Last-Event-ID`, which a browser sends
 * when it connects again on its own, or else `lastEventId`, which polyfills add to the URL. Null without both, and for an
 * empty header.
 */
export const resumedFrom = <C>(
  { headers }: FastifyRequest,
  lastEventId: C | undefined,
  parse: (text: string) => C,
): { readonly cursor: C; readonly name: string } | null => {
  const header = headers['last-event-id']
  if (typeof header === 'string' && header !== '') return { cursor: parse(header), name: 'Last-Event-ID' }
  return lastEventId === undefined ? null : { cursor: lastEventId, name: 'lastEventId' }
}

/** Throws `validation_error` when a request for a stream, by its `Accept`, has the size of a page. */
export const requireNoLimit = ({ url }: FastifyRequest): void => {
  if (new URLSearchParams(url.split('?')[1]).has('limit'))
    throw invalidField('limit', 'expected no value: streams have no pages')
}

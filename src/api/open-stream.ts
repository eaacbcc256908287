import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressOf } from './client.ts'
import type { StreamStart, Streams } from './streams.ts'

/** Answers a request with a stream of the items after a position. Throws as `Streams.requireCapacity` does. */
export const openStream = <F>(
  streams: Streams<F>,
  request: FastifyRequest,
  reply: FastifyReply,
  from: StreamStart,
  filter: F,
): FastifyReply => {
  reply.headers({
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
    // A stream cannot be cached.
    'cache-control': 'no-store',
    'x-data-source': 'database',
  })
  if (request.method === 'HEAD') return reply.send()
  const address = addressOf(request)
  streams.requireCapacity(address)
  reply.hijack()
  reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>)
  streams.open(reply.raw, address, from, filter)
  return reply
}

import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ServiceError } from '../../lib/errors.ts'
import type { Refused } from '../limits.ts'
import type { RateLimit } from '../rate-limit.ts'
import { clientOf, whenOver } from '../waiter.ts'

type Options = { readonly limit: RateLimit; readonly refused: Refused }

/** A request that may come to a 304: it is counted when it does not. */
const mayBeUnchanged = ({ method, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && headers['if-none-match'] !== undefined

/** Costs nothing to answer: a browser's question before the request itself. */
const isFree = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'OPTIONS' || routeOptions.config.unlimited === true

/** Refuses a client's requests beyond so many a minute with 429; a 304 is not counted. */
export const rateLimits = fp<Options>(async (app, { limit, refused }) => {
  /** Of each client the requests under way whose answer decides whether they are counted. */
  const undecided = new Map<string, number>()
  app.addHook('onRequest', async (request, reply) => {
    if (isFree(request)) return
    const isUncounted = mayBeUnchanged(request)
    const client = clientOf(request)
    const before = undecided.get(client) ?? 0
    if (isUncounted) {
      undecided.set(client, before + 1)
      // Also when the client left before the answer.
      whenOver(reply.raw, () => {
        const others = (undecided.get(client) ?? 1) - 1
        if (others > 0) undecided.set(client, others)
        else undecided.delete(client)
        if (![304, 429].includes(reply.statusCode)) limit.count(client, 'incr').catch(() => {})
      })
    }
    const { max, remaining, reset, isExceeded } = await limit.count(client, isUncounted ? 'read' : 'incr')
    reply.headers({ 'ratelimit-limit': max, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset })
    // Each of those that came before and are under way may come to be counted.
    if (!(isUncounted ? remaining <= before : isExceeded)) return
    refused.rate += 1
    throw new ServiceError('rate_limited', `more than ${max} requests a minute`, { retryAfter: Math.max(1, reset) })
  })
})

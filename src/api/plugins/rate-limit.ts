import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Redis } from 'ioredis'
import { ServiceError } from '../../lib/errors.ts'
import type { OutageLog } from '../../lib/outage-log.ts'
import type { Counted, Limits, Refused } from '../limits.ts'
import { clientOf, whenOver } from '../waiter.ts'
import { corsHeaders } from './cors.ts'
import { securityHeaders } from './security.ts'

/** Where processes that share a limit count together; undefined for each on its own. */
export type LimitStore = { readonly redis: Redis; readonly prefix: string; readonly outages: OutageLog }

type Options = {
  readonly limits: Limits
  readonly store: LimitStore | undefined
  readonly refused: Refused
  readonly counted: Counted
}

type Count = ReturnType<FastifyInstance['createRateLimit']>

const MINUTE_MS = 60_000

/** Clients that one process counts on its own; the least seen are forgotten. */
const MOST_CLIENTS = 100_000

/** A request that may come to a 304: it is counted when it does not. */
const mayBeUnchanged = ({ method, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && headers['if-none-match'] !== undefined

/** Asks nothing of anybody: a browser's question before the request itself. */
const isFree = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'OPTIONS' || routeOptions.config.unlimited === true

/** A counter of requests, in a Redis or else in this process; it throws when its Redis does not count. */
const createCount = async (
  app: FastifyInstance,
  { limits, store }: Pick<Options, 'limits' | 'store'>,
): Promise<Count> => {
  const counts: Count[] = []
  // A scope of its own: the library has one store in each.
  await app.register(async (scope) => {
    await scope.register(rateLimit, {
      global: false,
      max: limits.requestsPerMinute,
      timeWindow: MINUTE_MS,
      cache: MOST_CLIENTS,
      keyGenerator: clientOf,
      ...(store && { redis: store.redis, nameSpace: `${store.prefix}:requests:` }),
    })
    counts.push(scope.createRateLimit())
  })
  const [count] = counts
  if (count === undefined) throw new Error('the rate limit was not registered')
  return count
}

/** Counts in the Redis of `store`, and in this process while that Redis does not count. */
const withFallback =
  (together: Count, alone: Count, { outages }: LimitStore, counted: Counted): Count =>
  async (request, options) => {
    const isRead = options?.increment === false
    // A Redis that refuses writes still answers reads, with counts that do not rise.
    if (isRead && outages.isDown()) return alone(request, options)
    try {
      const result = await together(request, options)
      if (!isRead) outages.worked()
      return result
    } catch (fault) {
      outages.failed(fault)
      if (!isRead) counted.alone += 1
      return alone(request, options)
    }
  }

/**
 * Refuses a client's requests beyond so many a minute with 429; a 304 is not counted. While the store is out of reach or refuses writes, each
 * process counts on its own. It is asked before the hooks that set headers, so a refusal's come by hand.
 */
export const rateLimits = fp<Options>(async (app, { limits, store, refused, counted }) => {
  const alone = await createCount(app, { limits, store: undefined })
  const count = store ? withFallback(await createCount(app, { limits, store }), alone, store, counted) : alone
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
        if (![304, 429].includes(reply.statusCode)) count(request).catch(() => {})
      })
    }
    const told = await count(request, { increment: !isUncounted })
    if (told.isAllowed) return
    const { max, remaining, ttlInSeconds } = told
    reply.headers({ 'ratelimit-limit': max, 'ratelimit-remaining': remaining, 'ratelimit-reset': ttlInSeconds })
    // Each of those that came before and are under way may come to be counted.
    if (!(isUncounted ? remaining <= before : told.isExceeded)) return
    refused.rate += 1
    reply.headers({ ...corsHeaders, ...securityHeaders })
    const message = `more than ${max} requests a minute`
    throw new ServiceError('rate_limited', message, { retryAfter: Math.max(1, ttlInSeconds) })
  })
})

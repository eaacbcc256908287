import rateLimit from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Redis } from 'ioredis'
import { ServiceError } from '../../lib/errors.ts'
import type { Limits, Refused } from '../limits.ts'
import { corsHeaders } from './cors.ts'
import { securityHeaders } from './security.ts'

/** Where processes that share a limit count together; undefined for each on its own. */
export type LimitStore = { readonly redis: Redis; readonly prefix: string }

type Options = { readonly limits: Limits; readonly store: LimitStore | undefined; readonly refused: Refused }

const MINUTE_MS = 60_000

/** Clients that one process counts on its own; the least seen are forgotten. */
const MOST_CLIENTS = 100_000

/** A request that may come to a 304: it is counted when it does not. */
const mayBeUnchanged = ({ method, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && headers['if-none-match'] !== undefined

/** Asks nothing of anybody: a browser's question before the request itself. */
const isFree = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'OPTIONS' || routeOptions.config.unlimited === true

/**
 * Refuses a client's requests beyond so many a minute with 429; a 304 is not counted. A store out of reach counts nothing and refuses
 * nobody. It is asked before the hooks that set headers, so a refusal's come by hand.
 */
export const rateLimits = fp<Options>(async (app, { limits, store, refused }) => {
  await app.register(rateLimit, {
    global: false,
    max: limits.requestsPerMinute,
    timeWindow: MINUTE_MS,
    cache: MOST_CLIENTS,
    skipOnError: true,
    ...(store && { redis: store.redis, nameSpace: `${store.prefix}:requests:` }),
  })
  const count = app.createRateLimit()
  app.addHook('onRequest', async (request, reply) => {
    if (isFree(request)) return
    const isUncounted = mayBeUnchanged(request)
    if (isUncounted) {
      // Also when nobody waits for the answer any more.
      reply.raw.once('close', () => {
        if (![304, 429].includes(reply.statusCode)) count(request).catch(() => {})
      })
    }
    const told = await count(request, { increment: !isUncounted })
    if (told.isAllowed) return
    const { max, remaining, ttlInSeconds } = told
    reply.headers({ 'ratelimit-limit': max, 'ratelimit-remaining': remaining, 'ratelimit-reset': ttlInSeconds })
    if (!(isUncounted ? remaining === 0 : told.isExceeded)) return
    refused.rate += 1
    reply.headers({ ...corsHeaders, ...securityHeaders })
    const message = `more than ${max} requests a minute`
    throw new ServiceError('rate_limited', message, { retryAfter: Math.max(1, ttlInSeconds) })
  })
})

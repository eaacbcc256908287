import fp from 'fastify-plugin'
import { createTally } from '../../lib/tally.ts'
import { addressOf, isPart, onResponseEnd } from '../client.ts'
import type { Refused } from '../limits/limits.ts'
import { allowanceHeaders, type RateLimit, rateLimited } from '../limits/rate-limit.ts'

type Options = { readonly limit: RateLimit; readonly refused: Refused }

/** Rejects a client's requests above the limit per minute with a 429. A 304 is not counted. */
export const rateLimits = fp<Options>(async (app, { limit, refused }) => {
  /** The number of requests in progress by client whose response decides whether they are counted. */
  const undecided = createTally<string>()
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request
    // A preflight is not limited.
    if (method === 'OPTIONS' || routeOptions.config.unlimited === true || isPart()) return
    // A request that may become a 304 is counted once its response is not one.
    const mayBe304 = (method === 'GET' || method === 'HEAD') && headers['if-none-match'] !== undefined
    const address = addressOf(request)
    const before = undecided.of(address)
    if (mayBe304) {
      undecided.add(address, 1)
      // Also runs when the client disconnected before the response.
      onResponseEnd(reply.raw, () => {
        undecided.add(address, -1)
        if (![304, 429].includes(reply.statusCode)) limit.count(address, 'incr').catch(() => {})
      })
    }
    const allowance = await limit.count(address, mayBe304 ? 'read' : 'incr')
    const { remaining, isExceeded } = allowance
    reply.headers(allowanceHeaders(allowance))
    // Each earlier request in progress may still be counted.
    if (!(mayBe304 ? remaining <= before : isExceeded)) return
    refused.rate += 1
    throw rateLimited(allowance)
  })
})

import fp from 'fastify-plugin'
import { z } from 'zod'
import { invalidField } from '../../lib/errors.ts'

/** Rejects URLs with a fragment, and query parameters on routes of the API that take none. */
export const urls = fp(async (app) => {
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/')) route.schema = { querystring: z.object({}), ...route.schema }
  })
  app.addHook('onRequest', (request, _, done) => {
    const hasFragment = request.raw.url?.includes('#') === true
    done(hasFragment ? invalidField('url', 'expected no fragment: write # as %23') : undefined)
  })
})

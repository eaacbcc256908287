import fp from 'fastify-plugin'
import { z } from 'zod'
import { invalidField, notFound } from '../../lib/errors.ts'

/** Rejects an asterisk, URLs with a fragment, and query parameters on routes of the API that take none. */
export const urls = fp(async (app) => {
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/')) route.schema = { querystring: z.object({}), ...route.schema }
  })
  app.addHook('onRequest', (request, _, done) => {
    const { url = '' } = request.raw
    if (url.includes('#')) return done(invalidField('url', 'expected no fragment: write # as %23'))
    // The router takes an asterisk for the root.
    done(url === '*' ? notFound('no route *') : undefined)
  })
})

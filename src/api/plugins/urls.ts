import fp from 'fastify-plugin'
import { z } from 'zod'
import { invalid } from '../../lib/errors.ts'

const FRAGMENT = 'expected no fragment: write # as %23'

/** Rejects URLs with a fragment, and query parameters on routes of the API that take none. */
export const urls = fp(async (app) => {
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/')) route.schema = { querystring: z.object({}), ...route.schema }
  })
  app.addHook('onRequest', (request, _, done) => {
    const isRefused = request.raw.url?.includes('#') === true
    done(isRefused ? invalid(`url: ${FRAGMENT}`, [{ path: 'url', message: FRAGMENT }]) : undefined)
  })
})

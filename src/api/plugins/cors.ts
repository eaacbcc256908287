import fastifyCors from '@fastify/cors'
import fp from 'fastify-plugin'

const exposed = [
  'X-Request-Id',
  'X-Data-Source',
  'X-Block-Number',
  'X-Block-Hash',
  'X-Block-Timestamp',
  'X-Stale',
  'X-Index-Lag',
  'ETag',
  'Server-Timing',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Deprecation',
  'Sunset',
  'Link',
]

/** What any page may read of a response, for answers that no hook sees. */
export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed.join(', '),
} as const

/** Any page may call the API: it has no cookies, and its one credential is a header that a page has to set itself. */
export const cors = fp(async (app) => {
  await app.register(fastifyCors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: exposed,
    maxAge: 86_400,
    // An OPTIONS that is no preflight is answered like one and not with a text of the plugin's own.
    strictPreflight: false,
  })
})

import fp from 'fastify-plugin'
import { serverTiming, type Timings, withTimings } from '../../lib/timing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    timings: Timings | null
  }
}

/**
 * Sets `Server-Timing` on every response: how long the request waited for nodes and for the database, and its total
 * time.
 */
export const timing = fp(async (app) => {
  app.decorateRequest('timings', null)
  app.addHook('onRequest', (request, _, done) => {
    withTimings((timings) => {
      request.timings = timings
      done()
    })
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('server-timing', serverTiming(request.timings, reply.elapsedTime))
    done(null, payload)
  })
})

import fp from 'fastify-plugin'
import { serverTiming, type Timings, withTimings } from '../../lib/timing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    timings: Timings | null
  }
}

/** Every response but those that are shed says in `Server-Timing` how long its request waited for nodes and database, and took in all. */
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

import underPressure, { TYPE_EVENT_LOOP_DELAY } from '@fastify/under-pressure'
import fp from 'fastify-plugin'
import { unavailable } from '../../lib/errors.ts'
import type { Limits, Refused } from '../limits.ts'
import type { Streams } from '../streams.ts'

/** How often the process looks at itself, in milliseconds: so long a burst may last before it is noticed, and its end too. */
const LOOK_EVERY_MS = 500

/** Being late with fewer requests to answer than this is a pause, of the machine or of a start, and no load. Streams, which wait, are none. */
const LOAD = 64

/** Seconds after which a client that was turned away should come back. */
const RETRY_AFTER = 2

type Options = { readonly limits: Limits; readonly refused: Refused; readonly streams: Streams }

/** Turns requests away with 503 while there are more than the process can answer: those it has taken come to an end, and health is told. */
export const shedding = fp<Options>(async (app, { limits, refused, streams }) => {
  let taken = 0
  await app.register(underPressure, {
    maxEventLoopDelay: limits.maxEventLoopDelayMs,
    maxHeapUsedBytes: limits.maxHeapBytes,
    sampleInterval: LOOK_EVERY_MS,
    async pressureHandler({ routeOptions }, _, type) {
      const isPause = type === TYPE_EVENT_LOOP_DELAY && taken - streams.tally().open < LOAD
      if (isPause || routeOptions.config.unlimited) return
      refused.load += 1
      throw unavailable('more is asked than can be answered', undefined, RETRY_AFTER)
    },
  })
  // After that, so that only those are counted which are answered.
  app.addHook('onRequest', (_, { raw }, done) => {
    taken += 1
    raw.once('close', () => {
      taken -= 1
    })
    done()
  })
})

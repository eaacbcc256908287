import underPressure from '@fastify/under-pressure'
import fp from 'fastify-plugin'
import { unavailable } from '../../lib/errors.ts'
import type { Limits, Refused } from '../limits.ts'

/** How often the process looks at itself, in milliseconds: so long a burst may last before it is noticed, and its end too. */
const LOOK_EVERY_MS = 500

/** Seconds after which a client that was turned away should come back. */
const RETRY_AFTER = 2

type Options = { readonly limits: Limits; readonly refused: Refused }

/** Turns requests away with 503 while there are more than the process can answer: those it has taken come to an end, and health is told. */
export const shedding = fp<Options>(async (app, { limits, refused }) => {
  await app.register(underPressure, {
    maxEventLoopDelay: limits.maxEventLoopDelayMs,
    maxHeapUsedBytes: limits.maxHeapBytes,
    sampleInterval: LOOK_EVERY_MS,
    async pressureHandler({ routeOptions }) {
      if (routeOptions.config.unlimited) return
      refused.load += 1
      throw unavailable('more is asked than can be answered', undefined, RETRY_AFTER)
    },
  })
})

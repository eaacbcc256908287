import underPressure, { TYPE_EVENT_LOOP_DELAY } from '@fastify/under-pressure'
import fp from 'fastify-plugin'
import { unavailable } from '../../lib/errors.ts'
import type { Limits, Refused } from '../limits.ts'

/** How often the process looks at itself, in milliseconds: so long a burst may last before it is noticed, and its end too. */
const LOOK_EVERY_MS = 500

/** Seconds after which a client that was turned away should come back. */
const RETRY_AFTER = 2

/** Being late for less is a pause, of the machine or of a start, and no load; so is being late again after as long as `FORGET_MS`. */
const PAUSE_MS = 2 * LOOK_EVERY_MS
const FORGET_MS = 3_000

/** Says of a process that is late now whether it has been for longer than a pause. */
const createLateness = (): (() => boolean) => {
  let began = 0
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - last > FORGET_MS) began = now
    last = now
    return now - began > PAUSE_MS
  }
}

type Options = { readonly limits: Limits; readonly refused: Refused }

/** Turns requests away with 503 while there are more than the process can answer: those it has taken come to an end, and health is told. */
export const shedding = fp<Options>(async (app, { limits, refused }) => {
  const isLoad = createLateness()
  await app.register(underPressure, {
    maxEventLoopDelay: limits.maxEventLoopDelayMs,
    maxHeapUsedBytes: limits.maxHeapBytes,
    sampleInterval: LOOK_EVERY_MS,
    async pressureHandler({ routeOptions }, _, type) {
      if (routeOptions.config.unlimited || (type === TYPE_EVENT_LOOP_DELAY && !isLoad())) return
      refused.load += 1
      throw unavailable('more is asked than can be answered', undefined, RETRY_AFTER)
    },
  })
})

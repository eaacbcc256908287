import underPressure, { TYPE_EVENT_LOOP_DELAY } from '@fastify/under-pressure'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ErrorBody } from '../../lib/problem.ts'
import type { Limits, Refused } from '../limits.ts'
import { listOf } from '../response-cache/entry.ts'
import { standardHeaders } from './headers.ts'

/** How often the process looks at itself, in milliseconds: so long a burst may last before it is noticed, and its end too. */
const LOOK_EVERY_MS = 500

/** To be late for less is a pause, of the machine or of a start, and no load; so it is to be late again after `FORGET_MS`. */
const PAUSE_MS = 2 * LOOK_EVERY_MS
const FORGET_MS = 5_000

/** Seconds after which a client that was turned away should come back. */
const RETRY_AFTER = 2

const refusal: ErrorBody = { error: { code: 'service_unavailable', message: 'more is asked than can be answered' } }
const body = JSON.stringify(refusal)
const headers = listOf({
  'content-type': 'application/json; charset=utf-8',
  'content-length': Buffer.byteLength(body),
  'cache-control': 'no-store',
  'retry-after': RETRY_AFTER,
})

/** Says of a process that is late now whether it has been for longer than a pause. */
const createLateness = (): (() => boolean) => {
  let [began, last] = [0, Number.NEGATIVE_INFINITY]
  return () => {
    const now = performance.now()
    if (now - last > FORGET_MS) began = now
    last = now
    return now - began > PAUSE_MS
  }
}

type Options = { readonly limits: Limits; readonly refused: Refused }

/**
 * Turns requests away with 503 while there are more than the process can answer: those it has taken come to an end, and health is told.
 * Nothing else is done about them: what costs as much as an answer takes no load away.
 */
export const shedding = fp<Options>(async (app, { limits, refused }) => {
  const isLoad = createLateness()
  const isHeapFull = (): boolean => limits.maxHeapBytes > 0 && app.memoryUsage().heapUsed > limits.maxHeapBytes
  await app.register(underPressure, {
    maxEventLoopDelay: limits.maxEventLoopDelayMs,
    maxHeapUsedBytes: limits.maxHeapBytes,
    sampleInterval: LOOK_EVERY_MS,
    pressureHandler(request: FastifyRequest, reply: FastifyReply, type: string) {
      if (request.routeOptions.config.unlimited) return
      if (type === TYPE_EVENT_LOOP_DELAY && !isLoad() && !isHeapFull()) return
      refused.load += 1
      reply.hijack()
      reply.raw.writeHead(503, headers.concat(listOf(standardHeaders(request.id)))).end(body)
    },
  })
})

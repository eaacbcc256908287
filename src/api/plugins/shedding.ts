import underPressure, { TYPE_EVENT_LOOP_DELAY } from '@fastify/under-pressure'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ErrorBody } from '../../lib/http/problem.ts'
import { helpLink } from '../help.ts'
import type { Limits, Refused } from '../limits/limits.ts'
import { listOf } from '../response-cache/entry.ts'
import { standardHeaders } from './headers.ts'

/** How often the load is measured, in milliseconds. A burst is noticed, and its end too, after at most this time. */
const SAMPLE_EVERY_MS = 500

/**
 * A delay of the event loop that lasts at most `MAX_PAUSE_MS` is a pause of the machine or of the start, and not load.
 * A delay that follows the last one by more than `FORGET_MS` is a new one. Both in milliseconds.
 */
const MAX_PAUSE_MS = 2 * SAMPLE_EVERY_MS
const FORGET_MS = 5_000

/** When a rejected client should try again, in seconds. */
const RETRY_AFTER_SECONDS = 2

const message = `overloaded: try again after ${RETRY_AFTER_SECONDS} s`
const CODE = 'service_unavailable'
const body = JSON.stringify({ error: { code: CODE, message } } satisfies ErrorBody)
const headers = listOf({
  'content-type': 'application/json; charset=utf-8',
  'content-length': Buffer.byteLength(body),
  'cache-control': 'no-store',
  'retry-after': RETRY_AFTER_SECONDS,
})

/**
 * Makes the function that is called with each delay of the event loop, and returns whether the delay has lasted longer
 * than a pause. `now` is a monotonic clock, in milliseconds.
 *
 * @internal
 */
export const createLoad = (now: () => number): (() => boolean) => {
  let [startedAt, last] = [0, Number.NEGATIVE_INFINITY]
  return () => {
    const at = now()
    if (at - last > FORGET_MS) startedAt = at
    last = at
    return at - startedAt > MAX_PAUSE_MS
  }
}

/**
 * Rejects requests with a 503 while the process is overloaded, with as little work as possible. Requests in progress
 * are completed, and health endpoints still answer.
 */
export const shedding = fp<{ readonly limits: Limits; readonly refused: Refused }>(async (app, { limits, refused }) => {
  const isLoad = createLoad(() => performance.now())
  const isHeapFull = (): boolean => limits.maxHeapBytes > 0 && app.memoryUsage().heapUsed > limits.maxHeapBytes
  await app.register(underPressure, {
    maxEventLoopDelay: limits.maxEventLoopDelayMs,
    maxHeapUsedBytes: limits.maxHeapBytes,
    sampleInterval: SAMPLE_EVERY_MS,
    pressureHandler(request: FastifyRequest, reply: FastifyReply, type: string) {
      if (request.routeOptions.config.unlimited) return
      if (type === TYPE_EVENT_LOOP_DELAY && !isLoad() && !isHeapFull()) return
      refused.load += 1
      reply.hijack()
      const link = helpLink(request.url, CODE)
      const own = listOf({ ...standardHeaders(request.id), ...(link !== undefined && { link }) })
      reply.raw.writeHead(503, headers.concat(own)).end(body)
    },
  })
})

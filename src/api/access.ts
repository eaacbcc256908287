import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Ended, RequestMetrics } from '../lib/http-metrics.ts'
import type { LineBuffer } from './line-buffer.ts'

const ALLOWED = /^[\w.:-]{1,128}$/
const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/

/** The id of a request: the client's `X-Request-Id` when it has only allowed characters, else a new one. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && ALLOWED.test(given) ? given : randomUUID()
}

/** The trace id of a W3C `traceparent` header; undefined without the header or when it is malformed. */
export const traceOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  TRACE_PARENT.exec(String(headers.traceparent))?.[1]

/**
 * Creates the recorder of the metrics of ended requests, and of their log lines unless the client disconnected. What
 * all requests of a route, method and status share is prepared once. `traceId` is that of the client's trace.
 */
export const createAccess = (metrics: RequestMetrics, lines: LineBuffer) => {
  const prepare = ({ method, route, status }: Ended) => ({
    series: metrics.series(method, route, status),
    line: lines.kind(method, route, Number(status)),
  })
  const kinds = new Map<string | undefined, Map<string, ReturnType<typeof prepare>>>()
  return (ended: Ended, id: string, traceId: string | undefined): void => {
    const { method, route, status, ms } = ended
    const ofRoute = kinds.get(route) ?? new Map<string, ReturnType<typeof prepare>>()
    const known = ofRoute.get(method + status)
    const { series, line } = known ?? prepare(ended)
    if (known === undefined) kinds.set(route, ofRoute.set(method + status, { series, line }))
    series.observe(ms)
    if (status !== 'left') lines.answered(line, id, ms, traceId)
  }
}

export type Access = ReturnType<typeof createAccess>

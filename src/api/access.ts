import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Ended } from '../lib/http/metrics.ts'
import type { Logger } from '../lib/observe/log.ts'

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
 * Creates the recorder of ended requests: their metrics, and their log line unless the client disconnected. `traceId` is
 * that of the client's trace.
 */
export const createAccess = (observe: (ended: Ended) => void, log: Pick<Logger, 'child'>) => {
  // A line of a request has no secrets. Searching it for them would take twice as long as writing it.
  const lines = log.child({}, { redact: [] })
  return (ended: Ended, requestId: string, traceId: string | undefined): void => {
    observe(ended)
    const { method, route, status, ms } = ended
    if (status !== 'left') lines.info({ requestId, method, route, status, ms: Math.round(ms), traceId }, 'answered')
  }
}

export type Access = ReturnType<typeof createAccess>

import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const ALLOWED = /^[\w.:-]{1,128}$/
const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/

/** The id of a request: the client's `X-Request-Id` when it has only allowed characters, else a new one. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && ALLOWED.test(given) ? given : randomUUID()
}

/** The trace id of a W3C `traceparent` header; undefined without the header or when it is malformed. */
export const traceOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined => {
  return TRACE_PARENT.exec(String(headers.traceparent))?.[1]
}

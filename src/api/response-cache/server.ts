import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { RequestMetrics, Series } from '../../lib/http-metrics.ts'
import type { LineBuffer } from '../../lib/line-buffer.ts'
import type { Tracing } from '../../lib/tracing.ts'
import { requestId, traceOf } from '../plugins/request-id.ts'
import { markLookedUp, type ResponseCache } from './cache.ts'

/** Longest a request's head, and a whole request, may take to arrive, in milliseconds: 408 then. They are looked at every second. */
const HEAD_WITHIN_MS = 10_000
const REQUEST_WITHIN_MS = 30_000
const CHECK_EVERY_MS = 1_000

/** How long an idle connection is kept, in milliseconds: longer than load balancers keep theirs, which close first then. */
const KEEP_ALIVE_MS = 72_000

type Deps = {
  readonly cache: ResponseCache
  readonly metrics: RequestMetrics
  readonly lines: LineBuffer
  readonly tracing: Tracing | undefined
}

type Kind = { readonly series: Series; readonly line: ReturnType<LineBuffer['kind']> }

/**
 * For Fastify's `serverFactory`: answers what the cache can answer before the framework sees the request, and passes everything else on. A hit
 * gets what the framework does for others: a line in the log, its metrics, its span. Fastify sets no timeout on a server it did not make, and its
 * `clientErrorHandler` all the same.
 */
export const cachingServer =
  ({ cache, metrics, lines, tracing }: Deps) =>
  (handler: RequestListener): Server => {
    /** Of each route what is counted and logged: of GET and HEAD, 200 and 304. */
    const kinds = new Map<string, Kind[]>()
    const kindOf = (method: string, route: string, status: number): Kind => {
      const known = kinds.get(route) ?? []
      const at = (method === 'GET' ? 0 : 2) + (status === 304 ? 1 : 0)
      const kind = known[at] ?? {
        series: metrics.series(method, route, status),
        line: lines.kind(method, route, status),
      }
      if (known[at] === undefined) {
        known[at] = kind
        kinds.set(route, known)
      }
      return kind
    }

    const respond = (request: IncomingMessage, response: ServerResponse): boolean => {
      const began = performance.now()
      const hit = cache.decide(request, began)
      if (hit === null) return false
      const { method = 'GET', headers } = request
      const { route } = hit.entry
      const id = requestId(request)
      const span = tracing?.begin(method, headers)
      const ms = performance.now() - began
      cache.send(response, hit, id, ms)
      const status = response.statusCode
      const { series, line } = kindOf(method, route, status)
      series.observe(ms)
      lines.answered(line, id, ms, traceOf(request))
      span?.end({ route, status })
      return true
    }

    const server = createServer(
      {
        headersTimeout: HEAD_WITHIN_MS,
        requestTimeout: REQUEST_WITHIN_MS,
        connectionsCheckingInterval: CHECK_EVERY_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
      },
      (request, response) => {
        const handle = (): void => {
          if (respond(request, response)) return
          markLookedUp(request)
          handler(request, response)
        }
        // A pipelined request waits for its turn: else a client would have as many under way as fit into what is read at once, read or not.
        if (response.socket === null) response.once('socket', handle)
        else handle()
      },
    )
    // No limits: a connection may be idle between bytes for as long as its request may take, and ask as often as it likes.
    server.timeout = 0
    server.maxRequestsPerSocket = 0
    return server
  }

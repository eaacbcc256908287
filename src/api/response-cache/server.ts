import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Tracing } from '../../lib/observe/tracing.ts'
import { type Access, requestId, traceOf } from '../access.ts'
import { markCacheMiss, type ResponseCache } from './cache.ts'

/** Time for the head of a request and for all of it before a 408, and time between checks, in milliseconds. */
const HEAD_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const CHECK_EVERY_MS = 1_000

/** How long an idle connection stays open, in milliseconds: longer than at load balancers, which then close first. */
const KEEP_ALIVE_MS = 72_000

type Deps = {
  readonly cache: ResponseCache
  readonly access: Access
  readonly tracing: Tracing | undefined
}

/**
 * For Fastify's `serverFactory`: answers cache hits before the framework handles the request, and passes all other
 * requests on. A hit gets its log line, metrics and span here. Fastify sets its `clientErrorHandler` on a server that
 * it did not create, but no timeouts.
 */
export const cachingServer =
  ({ cache, access, tracing }: Deps) =>
  (handler: RequestListener): Server => {
    const respond = (request: IncomingMessage, response: ServerResponse): boolean => {
      const startedAt = performance.now()
      const hit = cache.decide(response)
      if (hit === null) {
        markCacheMiss(request)
        return false
      }
      const { method = 'GET', headers } = request
      const { route } = hit.entry
      const id = requestId(request)
      const span = tracing?.begin(method, headers)
      const ms = performance.now() - startedAt
      cache.send(response, hit, id, ms)
      const status = response.statusCode
      access({ method, route, status, ms }, id, traceOf(request))
      span?.end({ route, status })
      return true
    }

    const handle: RequestListener = (request, response) => {
      if (!respond(request, response)) handler(request, response)
    }

    const server = createServer(
      {
        headersTimeout: HEAD_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_EVERY_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
      },
      (request, response) => {
        // A pipelined request waits for its turn, so that a client has one request per connection in progress.
        if (response.socket === null) response.once('socket', () => handle(request, response))
        else handle(request, response)
      },
    )
    // No further limits: a connection may pause for as long as its request may take, and send any number of requests.
    server.timeout = 0
    server.maxRequestsPerSocket = 0
    return server
  }

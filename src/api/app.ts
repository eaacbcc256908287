import fastifyCompress from '@fastify/compress'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { Logger } from 'pino'
import { timed } from '../chain/timed.ts'
import type { Identity } from '../identity/verify.ts'
import { closesHalfOpen } from '../lib/half-open.ts'
import { createRequestMetrics } from '../lib/http-metrics.ts'
import { createLineBuffer } from '../lib/line-buffer.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { Tracing } from '../lib/tracing.ts'
import type { PricingClient } from '../pricing/client.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { Sources } from '../reads/read.ts'
import { createWaits } from '../reads/waits.ts'
import { BODY_LIMIT, type Limits, MAX_PARAM_LENGTH } from './limits.ts'
import { deprecation } from './plugins/deprecation.ts'
import { errors, routerError, socketError } from './plugins/errors.ts'
import { headers } from './plugins/headers.ts'
import { metrics as measured } from './plugins/metrics.ts'
import { openapi } from './plugins/openapi.ts'
import { rateLimits } from './plugins/rate-limit.ts'
import { requestId, requestLog } from './plugins/request-id.ts'
import { shedding } from './plugins/shedding.ts'
import { timing } from './plugins/timing.ts'
import { tracing } from './plugins/tracing.ts'
import { urls } from './plugins/urls.ts'
import { createRateLimit, type LimitStore } from './rate-limit.ts'
import { createResponseCache, responseCache } from './response-cache/cache.ts'
import { THRESHOLD } from './response-cache/compress.ts'
import { createPins } from './response-cache/pins.ts'
import { cachingServer } from './response-cache/server.ts'
import { createStore } from './response-cache/store.ts'
import { changelogRoutes } from './routes/changelog.ts'
import { docsRoutes } from './routes/docs.ts'
import { healthRoutes } from './routes/health.ts'
import { listingRoutes } from './routes/listings.ts'
import { meRoutes } from './routes/me.ts'
import { portfolioRoutes } from './routes/portfolio.ts'
import { pricingRoutes } from './routes/pricing.ts'
import { readRoutes } from './routes/reads.ts'
import { settlementRoutes } from './routes/settlements.ts'
import { statusRoutes } from './routes/status.ts'
import { txRoutes } from './routes/tx.ts'
import { serializerCompiler, validatorCompiler } from './schema.ts'
import { createStreams } from './streams.ts'
import { trusts } from './waiter.ts'

export type AppOptions = {
  readonly sources: Sources
  readonly identity: Identity
  readonly pricing: PricingClient
  /** The chain of a query-string read that names none. */
  readonly defaultChainId: ChainId
  /** Bytes that answers may take which are kept to be given again. */
  readonly maxPageBytes: number
  readonly limits: Limits
  /** Where requests are counted, where a limit is shared with other processes. */
  readonly limitStore?: LimitStore
  /** Aborts some time before the app closes. */
  readonly draining: AbortSignal
  readonly metrics: Metrics
  readonly tracing?: Tracing
  readonly log: Logger
}

/**
 * The HTTP API, ready to listen or to be injected into. It opens nothing and so closes nothing: its sources are the caller's.
 *
 * @example const app = await buildApp({ sources, identity, pricing, defaultChainId: 8453, log })
 */
export const buildApp = async (options: AppOptions): Promise<FastifyInstance> => {
  const { identity, pricing, defaultChainId, limits, limitStore, draining, metrics } = options
  const log: FastifyBaseLogger = options.log
  const chains = new Map([...options.sources.chains].map(([chainId, chain]) => [chainId, timed(chain)]))
  const sources: Sources = { ...options.sources, chains }
  const { changes } = sources
  const { requestsPerMinute: most, trustedProxies } = limits
  const refused = { load: 0, rate: 0 }
  const counted = { alone: 0 }
  const onAlone = (): void => {
    counted.alone += 1
  }
  const limit = most > 0 ? createRateLimit({ max: most, store: limitStore, onAlone }) : null
  const pins = createPins({ chains, changes })
  const store = createStore(options.maxPageBytes)
  const cache = createResponseCache({ changes, pins, store, limit, trustedProxies })
  const requests = createRequestMetrics(metrics)
  const lines = createLineBuffer(options.log)

  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestId,
    bodyLimit: BODY_LIMIT,
    trustProxy: trustedProxies > 0 && trusts(trustedProxies),
    serverFactory: cachingServer({ cache, metrics: requests, lines, tracing: options.tracing }),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    // While closing, requests on open connections are still answered: the framework's own 503 has another body.
    return503OnClosing: false,
    frameworkErrors: routerError,
    clientErrorHandler: socketError,
  })
  app.addHook('preClose', closesHalfOpen(app.server, draining))
  app.addHook('onClose', async () => {
    pins.close()
    lines.flush()
  })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  // Bodies are JSON; anything else is 415.
  app.removeContentTypeParser('text/plain')

  const streams = createStreams({ sources, max: limits.maxStreams, maxPerClient: limits.maxStreamsPerClient, log })
  const { maxWaits: max, maxWaitsPerClient: maxPerClient } = limits
  const waits = createWaits({ ...sources, max, maxPerClient, draining })
  app.addHook('onClose', async () => waits.close())

  await app.register(measured, { metrics, requests, store, streams, waits, refused, counted })
  if (options.tracing !== undefined) await app.register(tracing, { tracing: options.tracing })
  await app.register(requestLog)
  await app.register(headers)
  await app.register(responseCache, { cache })
  if (limit !== null) await app.register(rateLimits, { limit, refused })
  await app.register(timing)
  await app.register(fastifyCompress, {
    threshold: THRESHOLD,
    encodings: ['br', 'gzip', 'identity'],
    customTypes: /^application\/json(?:;|$)/,
    globalDecompression: false,
  })
  await app.register(errors)
  await app.register(shedding, { limits, refused })
  await app.register(deprecation)
  await app.register(urls)
  await app.register(openapi)

  await app.register(healthRoutes, { sources, draining })
  await app.register(statusRoutes, { sources, isLimitShared: () => options.limitStore?.outages.isDown() !== true })
  await app.register(changelogRoutes, { prefix: '/v1' })
  await app.register(docsRoutes, { prefix: '/v1' })
  await app.register(meRoutes, { prefix: '/v1', identity })
  await app.register(readRoutes, { prefix: '/v1', sources, waits, cache, defaultChainId })
  await app.register(listingRoutes, { prefix: '/v1', sources, waits, cache })
  await app.register(portfolioRoutes, { prefix: '/v1', sources, waits, cache })
  await app.register(settlementRoutes, { prefix: '/v1', sources, waits, cache, streams })
  await app.register(pricingRoutes, { prefix: '/v1', pricing, sources })
  await app.register(txRoutes, { prefix: '/v1', sources })
  return app
}

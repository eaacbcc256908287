import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { timed } from '../chain/timed.ts'
import type { Identity } from '../identity/verify.ts'
import { closesHalfOpen } from '../lib/half-open.ts'
import type { Metrics } from '../lib/metrics.ts'
import type { Tracing } from '../lib/tracing.ts'
import type { PricingClient } from '../pricing/client.ts'
import type { ChainId } from '../protocol/chains.ts'
import { createPins } from '../reads/pins.ts'
import type { Sources } from '../reads/read.ts'
import { createWaits } from '../reads/waits.ts'
import { createConditional } from './conditional.ts'
import { BODY_LIMIT, type Limits, MAX_PARAM_LENGTH } from './limits.ts'
import { createPages } from './pages.ts'
import { cors } from './plugins/cors.ts'
import { deprecation } from './plugins/deprecation.ts'
import { errors, routerError, socketError } from './plugins/errors.ts'
import { kept, unchanged } from './plugins/hot.ts'
import { metrics } from './plugins/metrics.ts'
import { openapi } from './plugins/openapi.ts'
import { type LimitStore, rateLimits } from './plugins/rate-limit.ts'
import { requestId, requestLog } from './plugins/request-id.ts'
import { security } from './plugins/security.ts'
import { shedding } from './plugins/shedding.ts'
import { timing } from './plugins/timing.ts'
import { tracing } from './plugins/tracing.ts'
import { urls } from './plugins/urls.ts'
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
  readonly log: FastifyBaseLogger
}

/** Longest a request's head, and a whole request, may take to arrive, in milliseconds: 408 then. */
const HEAD_WITHIN_MS = 10_000
const REQUEST_WITHIN_MS = 30_000

/**
 * The HTTP API, ready to listen or to be injected into. It opens nothing and so closes nothing: its sources are the caller's.
 *
 * @example const app = await buildApp({ sources, identity, pricing, defaultChainId: 8453, log })
 */
export const buildApp = async (options: AppOptions): Promise<FastifyInstance> => {
  const { identity, pricing, defaultChainId, maxPageBytes, limits, draining, log } = options
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestId,
    bodyLimit: BODY_LIMIT,
    trustProxy: limits.trustedProxies > 0 && ((_, hop) => hop < limits.trustedProxies),
    requestTimeout: REQUEST_WITHIN_MS,
    http: { headersTimeout: HEAD_WITHIN_MS, connectionsCheckingInterval: 1_000 },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // While closing, requests on open connections are still answered: the framework's own 503 has another body.
    return503OnClosing: false,
    frameworkErrors: routerError,
    clientErrorHandler: socketError,
  })
  app.addHook('preClose', closesHalfOpen(app.server, draining))
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  // Bodies are JSON; anything else is 415.
  app.removeContentTypeParser('text/plain')

  const chains = new Map([...options.sources.chains].map(([chainId, chain]) => [chainId, timed(chain)]))
  const sources: Sources = { ...options.sources, chains }
  const { changes } = sources
  const pins = createPins({ chains, changes })
  app.addHook('onClose', async () => pins.close())
  const pages = createPages(maxPageBytes)
  const conditional = createConditional({ changes, pins, pages })
  const streams = createStreams({ sources, max: limits.maxStreams, maxPerClient: limits.maxStreamsPerClient, log })

  const { maxWaits: max, maxWaitsPerClient: maxPerClient } = limits
  const waits = createWaits({ ...sources, max, maxPerClient, draining })
  app.addHook('onClose', async () => waits.close())

  const refused = { load: 0, rate: 0 }
  const counted = { alone: 0 }
  await app.register(metrics, { metrics: options.metrics, pages, streams, waits, refused, counted })
  if (options.tracing !== undefined) await app.register(tracing, { tracing: options.tracing })
  await app.register(requestLog)
  await app.register(unchanged, { conditional })
  if (limits.requestsPerMinute > 0) {
    await app.register(rateLimits, { limits, store: options.limitStore, refused, counted })
  }
  await app.register(kept, { conditional })
  await app.register(timing)
  await app.register(cors)
  await app.register(security)
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
  await app.register(readRoutes, { prefix: '/v1', sources, waits, conditional, defaultChainId })
  await app.register(listingRoutes, { prefix: '/v1', sources, waits, conditional })
  await app.register(portfolioRoutes, { prefix: '/v1', sources, waits, conditional })
  await app.register(settlementRoutes, { prefix: '/v1', sources, waits, conditional, streams })
  await app.register(pricingRoutes, { prefix: '/v1', pricing, sources })
  await app.register(txRoutes, { prefix: '/v1', sources })
  return app
}

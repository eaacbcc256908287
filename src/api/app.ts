import fastifyCompress from '@fastify/compress'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Identity } from '../identity/verify.ts'
import { closesHalfOpen } from '../lib/http/half-open.ts'
import { createRequestMetrics } from '../lib/http/metrics.ts'
import type { Metrics } from '../lib/observe/metrics.ts'
import type { Tracing } from '../lib/observe/tracing.ts'
import { createPlanner } from '../plans/planner.ts'
import type { PricingClient } from '../pricing/client.ts'
import type { ChainId } from '../protocol/chains.ts'
import type { ChangesSources } from '../reads/feeds/changes.ts'
import type { SettlementSources } from '../reads/feeds/settlements.ts'
import type { FinalityCache } from '../reads/freshness/finality.ts'
import { createWaits } from '../reads/freshness/waits.ts'
import { createAvailability, showAvailability } from '../reads/health/availability.ts'
import { openEvents } from '../reads/lists/open-events.ts'
import type { ListSources } from '../reads/lists/sources.ts'
import type { ReadSources } from '../reads/read.ts'
import { createSenders } from '../reads/transactions/replacement.ts'
import { createTransactions } from '../reads/transactions/transactions.ts'
import { createReadTurns } from '../reads/turns.ts'
import { decodeCall } from '../tx/decode-call.ts'
import { createAccess, requestId } from './access.ts'
import { trustsProxy } from './client.ts'
import { createCsvAnswers } from './csv/answers.ts'
import { BODY_LIMIT, type Limits, MAX_PARAM_LENGTH } from './limits/limits.ts'
import { createRateLimit, type LimitStore } from './limits/rate-limit.ts'
import type { ExplorerOptions } from './pages/explorer.ts'
import { contentEncodings } from './plugins/content-encoding.ts'
import { errors, routerError, socketError } from './plugins/errors.ts'
import { headers, preflights } from './plugins/headers.ts'
import { metrics as measured } from './plugins/metrics.ts'
import { openapi } from './plugins/openapi.ts'
import { rateLimits } from './plugins/rate-limit.ts'
import { shedding } from './plugins/shedding.ts'
import { timing, tracing } from './plugins/timing.ts'
import { unreadBodies } from './plugins/unread.ts'
import { urls } from './plugins/urls.ts'
import { createResponseCache, responseCache } from './response-cache/cache.ts'
import { THRESHOLD } from './response-cache/compress.ts'
import { createForkBlocks } from './response-cache/fork-blocks.ts'
import { cachingServer } from './response-cache/server.ts'
import { createStore } from './response-cache/store.ts'
import { createTags, editionOf } from './response-cache/tags.ts'
import { activityRoutes } from './routes/activity.ts'
import { changeRoutes } from './routes/changes.ts'
import { healthRoutes, type StatusSources, statusRoutes } from './routes/health.ts'
import { listingRoutes } from './routes/listings.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { meRoutes } from './routes/me.ts'
import { changelogRoutes } from './routes/pages/changelog.ts'
import { docsRoutes } from './routes/pages/docs.ts'
import { explorerRoutes } from './routes/pages/explorer.ts'
import { landingRoutes } from './routes/pages/landing.ts'
import { planRoutes } from './routes/plans.ts'
import { portfolioRoutes } from './routes/portfolio.ts'
import { pricingRoutes } from './routes/pricing.ts'
import { readRoutes } from './routes/reads.ts'
import { revertRoutes } from './routes/reverts.ts'
import { seriesRoutes } from './routes/series.ts'
import { settlementRoutes } from './routes/settlements.ts'
import { transactionRoutes } from './routes/transactions.ts'
import { txRoutes } from './routes/tx.ts'
import { type SelfService, webhookRoutes } from './routes/webhooks.ts'
import { serializerCompiler, validatorCompiler } from './schema.ts'
import { changeStream } from './streams/changes.ts'
import { settlementStream } from './streams/settlements.ts'
import { createStreamCapacity, createStreams } from './streams/shared.ts'
import { createUnread } from './unread.ts'

/** How long the worker polls fast after an item of an open stream, in milliseconds. */
const STREAMED_MS = 2_000

/** The sources of all routes. */
export type AppSources = Omit<ListSources, 'pricing'> &
  SettlementSources &
  ChangesSources &
  StatusSources &
  Pick<ReadSources, 'indexed'> & { readonly finality: FinalityCache }

export type AppOptions = {
  readonly sources: AppSources
  readonly identity: Identity
  readonly pricing: PricingClient
  /** The chain of reads that name none. */
  readonly defaultChainId: ChainId
  /** Size of the response cache in bytes. */
  readonly maxPageBytes: number
  readonly limits: Limits
  /** The pages for people; null or absent: none. */
  readonly explorer?: ExplorerOptions | null
  /** Whether `/mcp` is served. */
  readonly mcp: boolean
  /** What integrators register webhooks with by themselves; null or absent: they cannot. */
  readonly selfService?: SelfService | null
  /** Rows that are read at once for CSV; fewer in tests. */
  readonly csvPageRows?: number
  /** Where requests are counted when the rate limit is shared with other processes. */
  readonly limitStore?: LimitStore
  /** Aborts some time before the app closes. */
  readonly draining: AbortSignal
  readonly metrics: Metrics
  readonly tracing?: Tracing
  readonly log: Logger
}

/** Builds the HTTP API, ready to listen. It opens no connection: the caller opens and closes the sources. */
export const buildApp = async (options: AppOptions): Promise<FastifyInstance> => {
  const { sources, identity, pricing, defaultChainId, limits, limitStore, draining, metrics } = options
  const log: FastifyBaseLogger = options.log
  const { chains, changes, settlements } = sources
  const { requestsPerMinute: most, trustedProxies } = limits
  const explorer = options.explorer != null
  const refused = { load: 0, rate: 0, unread: 0 }
  const limit = most > 0 ? createRateLimit(most, limitStore) : null
  const forkBlocks = createForkBlocks({ chains, changes })
  const store = createStore(options.maxPageBytes)
  const tags = createTags(editionOf([...chains.values()].map(({ deployment }) => deployment)))
  const unread = createUnread(limits.maxUnreadBytes)
  const cache = createResponseCache({ changes, forkBlocks, store, tags, limit, trustedProxies, unread })
  const access = createAccess(createRequestMetrics(metrics), options.log)

  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestId,
    bodyLimit: BODY_LIMIT,
    trustProxy: trustedProxies > 0 && trustsProxy(trustedProxies),
    serverFactory: cachingServer({ cache, access, tracing: options.tracing }),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    // While closing, requests on open connections are still answered, because the framework's own 503 has another body.
    return503OnClosing: false,
    frameworkErrors: routerError,
    clientErrorHandler: socketError,
  })
  app.addHook('preClose', closesHalfOpen(app.server, draining))
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  // Bodies are JSON. Any other content type is a 415.
  app.removeContentTypeParser('text/plain')

  const capacity = createStreamCapacity(limits.maxStreams, limits.maxStreamsPerClient)
  /** What follows a change is news for the same clients. */
  const onItems = (): void => {
    for (const chain of chains.values()) chain.ask(null, STREAMED_MS)
  }
  const settlementsOf = (isFinal: boolean) =>
    createStreams({ changes, capacity, log, onItems, source: settlementStream(changes, settlements, isFinal) })
  const settled = { latest: settlementsOf(false), finalized: settlementsOf(true) }
  const changed = changeStream(sources)
  const changeStreams = createStreams({ changes, capacity, log, onItems, source: changed })
  const { maxWaits: max, maxWaitsPerClient: maxPerClient } = limits
  const { refreshState, ledgerTransactions } = sources.lists
  const waits = createWaits({ chains, changes, refreshState, ledgerTransactions, max, maxPerClient, draining })
  app.addHook('onClose', async () => waits.close())
  const turns = createReadTurns(limits.connections)
  const senders = createSenders()
  const transactions = createTransactions({ ...sources, senders, decodeCall }, waits)

  await app.register(measured, {
    metrics,
    access,
    store,
    streams: [...Object.values(settled), changeStreams],
    waits,
    unread,
    refused,
    limit,
  })
  if (options.tracing !== undefined) await app.register(tracing, { tracing: options.tracing })
  await app.register(headers)
  await app.register(timing)
  // Before the cache: a rejected body is not kept.
  await app.register(unreadBodies, { unread, refused })
  await app.register(responseCache, { cache })
  await app.register(preflights)
  if (limit !== null) await app.register(rateLimits, { limit, refused })
  await app.register(fastifyCompress, {
    threshold: THRESHOLD,
    encodings: ['br', 'gzip', 'identity'],
    customTypes: /^application\/json(?:;|$)/,
    globalDecompression: false,
  })
  await app.register(errors, { explorer })
  await app.register(shedding, { limits, refused })
  await app.register(urls)
  await app.register(contentEncodings)
  await app.register(openapi, { chainIds: [...chains.keys()] })

  const lists: ListSources = { ...sources, pricing }
  await app.register(landingRoutes, {
    sources,
    openEvents: (chainIds, limit) => openEvents(lists, chainIds, limit),
    feesOf: async (chainId) => (await app.inject(`/v1/hedge/fees?chainId=${chainId}`)).json().data,
    explorer,
  })
  const availability = createAvailability(sources)
  showAvailability(metrics, availability)
  await app.register(healthRoutes, { availability, draining })
  await app.register(statusRoutes, { sources, isLimitShared: () => options.limitStore?.outages.isDown() !== true })
  await app.register(changelogRoutes, { prefix: '/v1', explorer })
  await app.register(docsRoutes, { explorer, mcp: options.mcp })
  if (options.explorer != null) await app.register(explorerRoutes, options.explorer)
  if (options.mcp) await app.register(mcpRoutes)
  await app.register(meRoutes, { prefix: '/v1', identity })
  await app.register(readRoutes, { prefix: '/v1', sources, waits, turns, cache, defaultChainId })
  const csv = createCsvAnswers({ capacity, limit, pageRows: options.csvPageRows })
  await app.register(listingRoutes, { prefix: '/v1', sources: lists, waits, turns, cache, csv })
  await app.register(activityRoutes, { prefix: '/v1', sources: lists, waits, turns, cache, csv })
  await app.register(seriesRoutes, {
    prefix: '/v1',
    sources: { ...lists, queries: sources.queries },
    waits,
    turns,
    cache,
    csv,
  })
  await app.register(portfolioRoutes, { prefix: '/v1', sources: lists, waits, turns, cache })
  await app.register(settlementRoutes, { prefix: '/v1', sources, lists, waits, turns, cache, streams: settled })
  await app.register(changeRoutes, { prefix: '/v1', sources, turns, resume: changed.resume, streams: changeStreams })
  await app.register(webhookRoutes, { prefix: '/v1', selfService: options.selfService ?? null, limit, refused })
  await app.register(pricingRoutes, { prefix: '/v1', pricing, chains })
  await app.register(txRoutes, { prefix: '/v1', chains, senders })
  await app.register(transactionRoutes, { prefix: '/v1', transactions })
  await app.register(revertRoutes, { prefix: '/v1' })
  const plan = createPlanner({ chains, tokens: sources.lists.tokens, pricing, lists })
  await app.register(planRoutes, { prefix: '/v1', plan })
  return app
}

import { readFile, writeFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { buildApp } from '../api/app.ts'
import type { LimitStore } from '../api/limits/rate-limit.ts'
import type { SelfService } from '../api/routes/webhooks.ts'
import { measureChains } from '../chain/metrics.ts'
import { environments } from '../config/environments.ts'
import { type ConfigOf, load } from '../config/load.ts'
import { appOf, identityOf, metricsOf, poolOf, pricingOf, secretsOf, selfServiceOf } from '../config/parts.ts'
import { createReader } from '../db/changes/reader.ts'
import { measureDatabases, showReplica } from '../db/metrics.ts'
import type { Database } from '../db/pool.ts'
import { requireSessions } from '../db/versions.ts'
import { defaultClaims } from '../identity/me.ts'
import { createIdentity } from '../identity/verify.ts'
import { nullIfUnavailable } from '../lib/errors.ts'
import { type Closers, createClosers } from '../lib/lifecycle.ts'
import { createLogger, type Logger } from '../lib/observe/log.ts'
import { createMetrics } from '../lib/observe/metrics.ts'
import type { Tracing } from '../lib/observe/tracing.ts'
import { listening } from '../lib/port-taken.ts'
import { packaged } from '../lib/root.ts'
import { createPricingClient } from '../pricing/client.ts'
import { configureChains, knownChains } from '../protocol/chains.ts'
import { createChanges } from '../reads/cache/resources.ts'
import { createChecks } from '../reads/health/checks.ts'
import { createLags, LAG_EVERY_MS } from '../reads/health/lags.ts'
import { showIndex } from '../reads/health/metrics.ts'
import { diamondFunctions } from '../tx/builders.ts'
import { createResolve } from '../webhooks/resolve.ts'
import { createVault } from '../webhooks/secrets.ts'
import { createDrain, type Drain } from './drain.ts'
import { sendDemands } from './leader.ts'
import { serveMetrics } from './metrics-server.ts'
import { openChains, openDatabase, requireProfiles, requireVersionOf } from './parts.ts'
import { serve } from './serve.ts'
import { createSources } from './sources.ts'

/** The store of request counts that API processes share. Its driver is loaded only when the store is configured. */
const openLimitStore = async (
  config: Pick<ConfigOf<typeof environments.api>, 'RATE_LIMIT_PER_MINUTE' | 'REDIS_URL' | 'JOBS_PREFIX'>,
  log: Logger,
  closers: Closers,
): Promise<LimitStore | undefined> => {
  const { RATE_LIMIT_PER_MINUTE: most, REDIS_URL: redisUrl, JOBS_PREFIX: prefix } = config
  if (most === 0 || redisUrl === undefined) return undefined
  const { createLimitStore } = await import('../api/limits/store.ts')
  return closers.add('limits', createLimitStore({ redisUrl, prefix, log }), (it) => it.close())
}

/** Opens tracing if it is configured. Its libraries are loaded only then. */
const openTracing = async (endpoint: string | undefined, closers: Closers): Promise<Tracing | undefined> => {
  if (endpoint === undefined) return undefined
  const opened = (await import('./tracing.ts')).openTracing({ endpoint, service: 'fx-protection-api' })
  return closers.add('traces', opened, (it) => it.close())
}

/** What integrators register webhooks with, if it is turned on. */
const openSelfService = (config: ConfigOf<typeof environments.api>, database: Database): SelfService | null => {
  const chosen = selfServiceOf(config)
  if (chosen === null) return null
  const { keys, ...rest } = chosen
  return { ...rest, database, vault: createVault(keys), resolve: createResolve(), now: Date.now }
}

/**
 * Maximum connections that wait to be accepted, up to the system's own limit. A client whose connection does not fit
 * retries after seconds.
 */
const BACKLOG = 4_096

/**
 * Growth of the old heap generation, in percent of the live memory, before V8 collects it. V8's own choice is up to
 * 300, with which short-lived bodies of megabytes keep a third more memory (`npm run bench:memory`).
 */
const HEAP_GROWTH_PERCENT = 20

/**
 * Opens the API of a configuration, and what it needs. Each part closes with `closers`.
 */
export const openApi = async (
  config: ConfigOf<typeof environments.api>,
  drain: Drain,
  log: ReturnType<typeof createLogger>,
  closers: Closers,
): Promise<void> => {
  const metrics = createMetrics()
  const served = await serveMetrics({ metrics, ...metricsOf(config), log })
  closers.add('metrics', served, (it) => it.close())
  const { DATABASE_URL: url, DATABASE_READ_URL: copyUrl } = config
  const pool = { ...poolOf(config), log }
  const database = openDatabase({ ...pool, name: 'reads', url }, closers)
  await requireVersionOf(database, log, closers)
  const copy = copyUrl === undefined ? undefined : openDatabase({ ...pool, name: 'copy', url: copyUrl }, closers)
  // A replica that is out of reach is not waited for.
  if (copy) await requireSessions(copy, 'DATABASE_READ_URL').catch(nullIfUnavailable)
  const replica = copy && createReader({ copy, origin: database, log })
  const reader = replica ?? database
  const changes = closers.add('changes', createChanges({ url, database: reader, log }), (it) => it.close())
  const ask = sendDemands(database)
  const chains = openChains(config, log, closers, (chainId) => ({
    head: async () => changes.storedHead(chainId),
    ask: ask(chainId),
  }))
  await requireProfiles(chains.values())
  const identity = createIdentity({ ...identityOf(config), now: performance.now.bind(performance) })
  closers.add('identity provider', identity, (it) => it.close())
  const pricing = createPricingClient(pricingOf(config))
  closers.add('pricing engine', pricing, (it) => it.close())
  const checks = createChecks({ chains, pricing, writes: diamondFunctions, log })
  const lags = createLags({ chainIds: config.CHAINS, changes, now: Date.now })
  const maxLagSeconds = config.MAX_LAG_SECONDS
  const sources = createSources({ chains, database, reader, changes, checks, lags, maxLagSeconds })
  measureChains(metrics, chains)
  measureDatabases(metrics, { reads: database, ...(copy && { copy }) })
  if (replica) showReplica(metrics, replica.isReplicaUsed)
  showIndex(metrics, sources)
  const tracing = await openTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, closers)
  const limitStore = await openLimitStore(config, log, closers)
  const app = await buildApp({
    sources,
    identity,
    pricing,
    ...appOf(config),
    ...(limitStore && { limitStore }),
    selfService: openSelfService(config, database),
    draining: drain.signal,
    metrics,
    ...(tracing && { tracing }),
    log,
  })
  closers.add('http server', app, (it) => it.close())
  await listening(app.listen({ host: config.HOST, port: config.PORT, backlog: BACKLOG }), config.PORT, 'PORT')
  const stop = closers.add('checks', new AbortController(), (it) => it.abort())
  void checks.watch(stop.signal, changes)
  lags.sample()
  closers.add('lags', setInterval(lags.sample, LAG_EVERY_MS), clearInterval)
  closers.add('drain', drain, (it) => it.begin())
}

/** Runs the HTTP API until a signal. */
export const runApi = async (): Promise<void> => {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`)
  const config = load(environments.api)
  configureChains(config.CHAINS)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'api', secrets: secretsOf(config) })
  const drain = createDrain({ ms: config.DRAIN_MS, log })
  await serve({ log, drainMs: config.DRAIN_MS }, (closers) => openApi(config, drain, log, closers))
}

const OPENAPI_FILE = packaged('docs/openapi.json')

/**
 * Writes the API description to the repository; with `check`, exit code 1 when the file there differs. It describes an
 * API without chains, so it lists no chain ids; the document that a process serves does.
 */
export const runOpenapi = async ({ check }: { readonly check: boolean }): Promise<void> => {
  const log = createLogger({ level: 'error', process: 'openapi' })
  const closers = createClosers()
  // Examples of requests are decoded.
  const [defaultChainId = 0, ...others] = knownChains.keys()
  configureChains([defaultChainId, ...others])
  try {
    // Routes describe themselves without requests, so no database or node needs to be reachable.
    const nowhere = { url: 'postgres://127.0.0.1:9/none', maxConnections: 1, statementTimeoutMs: 1, log }
    const database = openDatabase(nowhere, closers)
    const changes = closers.add('changes', createChanges({ ...nowhere, database }), (it) => it.close())
    const identity = createIdentity({ userinfoUrl: undefined, claims: defaultClaims, timeoutMs: 1, now: Date.now })
    closers.add('identity provider', identity, (it) => it.close())
    const pricing = createPricingClient({ url: 'http://127.0.0.1:9', timeoutMs: 1 })
    closers.add('pricing engine', pricing, (it) => it.close())
    const checks = createChecks({ chains: new Map(), pricing, writes: [], log })
    const nobody = {
      requestsPerMinute: 0,
      maxStreams: 1,
      maxStreamsPerClient: 1,
      maxWaits: 1,
      maxWaitsPerClient: 1,
      maxEventLoopDelayMs: 0,
      maxHeapBytes: 0,
      maxUnreadBytes: 1,
      connections: 1,
      trustedProxies: 0,
    }
    const app = await buildApp({
      sources: createSources({
        chains: new Map(),
        database,
        reader: database,
        changes,
        checks,
        lags: { of: () => [] },
        maxLagSeconds: 0,
      }),
      identity,
      pricing,
      defaultChainId,
      maxPageBytes: 1,
      limits: nobody,
      mcp: false,
      draining: new AbortController().signal,
      metrics: createMetrics(),
      log,
    })
    closers.add('app', app, (it) => it.close())
    const text = `${JSON.stringify(app.describe(), null, 2)}\n`
    if (!check) await writeFile(OPENAPI_FILE, text)
    else if (text !== (await readFile(OPENAPI_FILE, 'utf8'))) {
      process.stderr.write('docs/openapi.json differs from the description that the API serves: run npm run openapi\n')
      process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}

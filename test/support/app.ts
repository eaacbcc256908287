import { randomBytes } from 'node:crypto'
import { type Logger, pino } from 'pino'
import type { Address } from 'viem'
import { buildApp } from '../../src/api/app.ts'
import type { Limits } from '../../src/api/limits/limits.ts'
import type { LimitStore } from '../../src/api/limits/rate-limit.ts'
import type { SelfService } from '../../src/api/routes/webhooks.ts'
import { createChain } from '../../src/chain/chain.ts'
import { measureChains } from '../../src/chain/metrics.ts'
import { createSources } from '../../src/compose/sources.ts'
import { measureDatabases } from '../../src/db/metrics.ts'
import type { Database } from '../../src/db/pool.ts'
import { type Claims, defaultClaims } from '../../src/identity/me.ts'
import { createIdentity } from '../../src/identity/verify.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { createMetrics } from '../../src/lib/observe/metrics.ts'
import type { Tracing } from '../../src/lib/observe/tracing.ts'
import { createPricingClient } from '../../src/pricing/client.ts'
import type { Deployment } from '../../src/protocol/chains.ts'
import { createChanges } from '../../src/reads/cache/resources.ts'
import { createChecks } from '../../src/reads/health/checks.ts'
import { showIndex } from '../../src/reads/health/metrics.ts'
import { diamondFunctions } from '../../src/tx/builders.ts'
import { createVault } from '../../src/webhooks/secrets.ts'
import { createClient } from './client.ts'
import { chainIds, factsOf } from './known-chains.ts'
import { openDatabase } from './open-database.ts'

/** The discard port is closed: connections are refused at once. */
const NOWHERE = '127.0.0.1:9'

const nobody: Address = '0x000000000000000000000000000000000000dEaD'

type Options = {
  readonly databaseUrl?: string | undefined
  /** Where the process reads the change log; from the database unless given. */
  readonly changesFrom?: (database: Database) => Pick<Database, 'run'>
  /** The deployment of each configured chain, and its nodes where some are in reach. */
  readonly nodes?: readonly {
    readonly url?: string
    /** Several nodes, in order of preference. */
    readonly urls?: readonly string[]
    readonly deployment: Deployment
  }[]
  /** How long a head may be reused, in milliseconds. */
  readonly headMaxAgeMs?: number
  readonly nodeTimeoutMs?: number
  readonly identity?: {
    readonly userinfoUrl: string
    readonly claims?: Claims
    readonly timeoutMs?: number
    readonly now?: () => number
  }
  readonly engineUrl?: string
  readonly limits?: Partial<Limits>
  readonly mcp?: boolean
  /** What integrators register webhooks with, in the database of the app. */
  readonly selfService?: Partial<Omit<SelfService, 'database'>>
  readonly csvPageRows?: number
  readonly limitStore?: LimitStore
  readonly tracing?: Tracing
  readonly draining?: AbortSignal
  readonly log?: Logger
}

/** Reserving the memory of 20,000, which is the default, takes as long as many tests do. */
const MAX_ANSWERS = 2_000

/** Integrators register webhooks by themselves. Every name leads to a public address. */
const registration = (): Omit<SelfService, 'database'> => ({
  vault: createVault([randomBytes(32)]),
  resolve: async () => [{ address: '93.184.216.34', family: 4 }],
  allowsLoopback: false,
  mostPerKey: 10,
  now: Date.now,
})

/** The app as the API process builds it. Services without an option are out of reach. */
export const openApp = async (options: Options) => {
  const {
    databaseUrl,
    nodes = [],
    headMaxAgeMs = 50,
    nodeTimeoutMs = 15_000,
    log = pino({ level: 'silent' }),
    limitStore,
    csvPageRows,
    tracing,
  } = options
  const closers = createClosers()
  const chains = chainIds.map((chainId) => {
    const node = nodes.find(({ deployment }) => deployment.chainId === chainId)
    const deployment: Deployment = node?.deployment ?? {
      chainId,
      ...factsOf(chainId),
      diamond: nobody,
      usdc: nobody,
      usdt: null,
      publicRpcUrl: 'http://node.example',
      startBlock: 0n,
      profile: 'reference',
    }
    const rpcUrls = node?.urls ?? [node?.url ?? `http://${NOWHERE}/private-key`]
    const chain = createChain({
      deployment,
      rpcUrls,
      timeoutMs: nodeTimeoutMs,
      headMaxAgeMs,
      maxAnswers: MAX_ANSWERS,
      log,
    })
    return closers.add(`chain ${chainId}`, chain, (it) => it.close())
  })
  const url = databaseUrl ?? `postgres://user:secret-password@${NOWHERE}/none`
  // The API's default.
  const database = openDatabase(url, { maxConnections: 10, log })
  closers.add('database', database, (it) => it.close())
  const opened = new Map(chains.map((chain) => [chain.chainId, chain]))
  const changes = closers.add(
    'changes',
    createChanges({ url, database: options.changesFrom?.(database) ?? database, log }),
    (it) => it.close(),
  )
  const pricing = createPricingClient({ url: options.engineUrl ?? `http://${NOWHERE}`, timeoutMs: 15_000 })
  closers.add('pricing', pricing, (it) => it.close())
  const checks = createChecks({ chains: opened, pricing, writes: diamondFunctions, log })
  const sources = createSources({
    ...{ chains: opened, database, reader: database, changes, checks, lags: { of: () => [] }, maxLagSeconds: 60 },
    // A busy machine takes longer than the service waits.
    patienceMs: 60_000,
  })
  const {
    userinfoUrl,
    claims = defaultClaims,
    timeoutMs = 15_000,
    now = () => performance.now(),
  } = options.identity ?? {}
  const identity = createIdentity({ userinfoUrl, claims, timeoutMs, now })
  closers.add('identity', identity, (it) => it.close())
  const metrics = createMetrics()
  closers.add('node metrics', measureChains(metrics, opened), (end) => end())
  closers.add('database metrics', measureDatabases(metrics, { reads: database }), (end) => end())
  showIndex(metrics, sources)
  const limits: Limits = {
    requestsPerMinute: 0,
    maxStreams: 1_000,
    maxStreamsPerClient: 1_000,
    maxWaits: 1_000,
    maxWaitsPerClient: 1_000,
    // A machine that runs many tests at once may pause.
    maxEventLoopDelayMs: 0,
    maxHeapBytes: 0,
    maxUnreadBytes: 134_217_728,
    connections: 10,
    trustedProxies: 0,
    ...options.limits,
  }
  const app = await buildApp({
    sources,
    identity,
    pricing,
    defaultChainId: 8453,
    maxPageBytes: 16_777_216,
    limits,
    mcp: options.mcp ?? true,
    explorer: { sandboxUrl: null },
    ...(csvPageRows && { csvPageRows }),
    ...(limitStore && { limitStore }),
    selfService: options.selfService ? { ...registration(), database, ...options.selfService } : null,
    ...(tracing && { tracing }),
    draining: options.draining ?? new AbortController().signal,
    metrics,
    log,
  })
  closers.add('app', app, (it) => it.close())
  return { ...createClient(app), app, sources, checks, database, metrics, close: closers.close }
}

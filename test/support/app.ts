import { type Logger, pino } from 'pino'
import type { Address } from 'viem'
import { buildApp } from '../../src/api/app.ts'
import type { Limits } from '../../src/api/limits.ts'
import type { LimitStore } from '../../src/api/rate-limit.ts'
import { createChain } from '../../src/chain/chain.ts'
import { measureChains } from '../../src/chain/metrics.ts'
import { measureDatabases } from '../../src/db/metrics.ts'
import { createQueries } from '../../src/db/query.ts'
import type { Renderer } from '../../src/db/rendering.ts'
import { createSettlementQueries } from '../../src/db/settlements.ts'
import { readVitals } from '../../src/db/vitals.ts'
import { type Claims, defaultClaims } from '../../src/identity/me.ts'
import { createIdentity } from '../../src/identity/verify.ts'
import { createClosers } from '../../src/lib/lifecycle.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import type { Tracing } from '../../src/lib/tracing.ts'
import { createPricingClient } from '../../src/pricing/client.ts'
import { chainIds, type Deployment } from '../../src/protocol/chains.ts'
import { createChanges } from '../../src/reads/changes.ts'
import { createChecks } from '../../src/reads/checks.ts'
import { createLists } from '../../src/reads/lists.ts'
import { showIndex } from '../../src/reads/metrics.ts'
import type { Sources } from '../../src/reads/read.ts'
import { diamondFunctions } from '../../src/tx/builders.ts'
import { createClient } from './client.ts'
import { openDatabase } from './open-database.ts'

/** Nobody listens on the discard port: connections are refused at once. */
const NOWHERE = '127.0.0.1:9'

const nobody: Address = '0x000000000000000000000000000000000000dEaD'

type Options = {
  readonly databaseUrl?: string | undefined
  /** The deployment of each configured chain, and its node where one is in reach. */
  readonly nodes?: readonly { readonly url?: string; readonly deployment: Deployment }[]
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
  /** Renders rows of lists; this release's way unless given. */
  readonly rendererOf?: (deployment: Deployment) => Renderer
  readonly limits?: Partial<Limits>
  readonly limitStore?: LimitStore
  readonly tracing?: Tracing
  readonly draining?: AbortSignal
  readonly log?: Logger
}

/** The app as the API process builds it; what is not given is out of reach. */
export const openApp = async (options: Options) => {
  const {
    databaseUrl,
    nodes = [],
    headMaxAgeMs = 50,
    nodeTimeoutMs = 15_000,
    log = pino({ level: 'silent' }),
    limitStore,
    tracing,
  } = options
  const closers = createClosers()
  const chains = chainIds.map((chainId) => {
    const node = nodes.find(({ deployment }) => deployment.chainId === chainId)
    const deployment: Deployment = node?.deployment ?? {
      chainId,
      diamond: nobody,
      usdc: nobody,
      usdt: null,
      publicRpcUrl: 'http://node.example',
      startBlock: 0n,
      profile: 'reference',
    }
    const rpcUrls = [node?.url ?? `http://${NOWHERE}/private-key`]
    const chain = createChain({ deployment, rpcUrls, timeoutMs: nodeTimeoutMs, headMaxAgeMs, log })
    return closers.add(`chain ${chainId}`, chain, (it) => it.close())
  })
  const url = databaseUrl ?? `postgres://user:secret-password@${NOWHERE}/none`
  // As many as the API has unless told otherwise.
  const database = openDatabase(url, { maxConnections: 10, log })
  closers.add('database', database, (it) => it.close())
  const opened = new Map(chains.map((chain) => [chain.chainId, chain]))
  const changes = closers.add('changes', createChanges({ url, database, log }), (it) => it.close())
  const pricing = createPricingClient({ url: options.engineUrl ?? `http://${NOWHERE}`, timeoutMs: 15_000 })
  closers.add('pricing', pricing, (it) => it.close())
  const checks = createChecks({ chains: opened, pricing, writes: diamondFunctions, log })
  const sources: Sources = {
    chains: opened,
    queries: createQueries(database),
    lists: createLists({ database, chains: opened, ...(options.rendererOf && { rendererOf: options.rendererOf }) }),
    changes,
    settlements: createSettlementQueries(database),
    vitals: (chainId) => readVitals(database, chainId),
    checks,
    maxLagSeconds: 60,
  }
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
    // A machine that runs many tests at once is late for no fault of the app.
    maxEventLoopDelayMs: 0,
    maxHeapBytes: 0,
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
    ...(limitStore && { limitStore }),
    ...(tracing && { tracing }),
    draining: options.draining ?? new AbortController().signal,
    metrics,
    log,
  })
  closers.add('app', app, (it) => it.close())
  return { ...createClient(app), app, sources, checks, database, metrics, close: closers.close }
}

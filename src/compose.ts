import { readFile, writeFile } from 'node:fs/promises'
import { buildApp } from './api/app.ts'
import { type Chain, createChain } from './chain/chain.ts'
import { chainsOf, environments, inherited, load, ratesOf } from './config.ts'
import { appendSet, newestSet } from './db/calibrations.ts'
import { migrate } from './db/migrate.ts'
import { createDatabase, type Database, type DatabaseOptions } from './db/pool.ts'
import { createQueries } from './db/query.ts'
import { createSettlementQueries } from './db/settlements.ts'
import { markChangeable } from './db/unobserved.ts'
import { readVitals } from './db/vitals.ts'
import { defaultClaims } from './identity/me.ts'
import { createIdentity } from './identity/verify.ts'
import { audit, formatAudit } from './indexer/audit.ts'
import { createConfirm } from './indexer/audit-repair.ts'
import { auditSlice } from './indexer/audit-slice.ts'
import { follow } from './indexer/follow.ts'
import { createObserver } from './indexer/observer.ts'
import { createJobs } from './jobs/run.ts'
import { createDrain } from './lib/drain.ts'
import { type Closers, createClosers, sleep } from './lib/lifecycle.ts'
import { createLogger, type Logger } from './lib/log.ts'
import { createMeter } from './lib/meter.ts'
import { createPace } from './lib/pace.ts'
import { packaged } from './lib/root.ts'
import { serve } from './lib/serve.ts'
import { createCalibrator } from './pricing/calibration-sets.ts'
import { createPricingClient } from './pricing/client.ts'
import { openMarket } from './pricing/market/open-market.ts'
import type { ChainId } from './protocol/chains.ts'
import { type Changes, createChanges } from './reads/changes.ts'
import { createLists } from './reads/lists.ts'
import { chainOf, type Sources } from './reads/read.ts'
import { runSandbox as runEmbedded } from './sandbox/run.ts'

/** How often everything that can still change is looked at again, in milliseconds. */
const SWEEP_EVERY_MS = 60_000

/** The index asks for an observation when it has noted something; so often it is made sure of, in milliseconds. */
const OBSERVE_EVERY_MS = 5_000

/** What is noted within so many milliseconds is observed together: an event that many buy from is read once. */
const OBSERVE_AT_MOST_EVERY_MS = 1_000

/** How often the next slice of an index is compared with its chain, in milliseconds. */
const AUDIT_EVERY_MS = 30_000

/** How long after its start a worker does what can wait, in milliseconds. */
const SETTLED_AFTER_MS = 5_000

/** The sandbox's nodes are local: looking often costs nothing and shows a new row at once. */
const SANDBOX_POLL_MS = 200

const openChains = (
  config: Parameters<typeof chainsOf>[0],
  headMaxAgeMs: number,
  log: Logger,
  closers: Closers,
): Map<ChainId, Chain> =>
  new Map(
    chainsOf(config).map(({ deployment, rpcUrls }) => {
      const chain = createChain({ deployment, rpcUrls, timeoutMs: config.NODE_TIMEOUT_MS, headMaxAgeMs, log })
      return [deployment.chainId, closers.add(`chain ${deployment.chainId}`, chain, (it) => it.close())]
    }),
  )

/** Longest a statement of a read may take, in milliseconds: it has another source to turn to. */
const READ_WITHIN_MS = 2_000

/** The same of the worker and the audit. */
const WORK_WITHIN_MS = 10_000

const openDatabase = (options: DatabaseOptions, closers: Closers): Database =>
  closers.add('database', createDatabase(options), (it) => it.close())

const sourcesOf = (
  chains: Sources['chains'],
  database: Database,
  changes: Changes,
  maxLagSeconds: number,
): Sources => ({
  chains,
  queries: createQueries(database),
  lists: createLists({ database, chains }),
  changes,
  settlements: createSettlementQueries(database),
  vitals: (chainId) => readVitals(database, chainId),
  maxLagSeconds,
})

/** Connections that may wait to be accepted, as far as the system's own bound allows: one that finds no place is tried again by its client after seconds. */
const BACKLOG = 4_096

/** The HTTP API until a signal. */
export const runApi = async (): Promise<void> => {
  const config = load(environments.api)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'api' })
  const drain = createDrain({ ms: config.DRAIN_MS, log })
  await serve({ log, drainMs: config.DRAIN_MS }, async (closers) => {
    const chains = openChains(config, config.HEAD_MAX_AGE_MS, log, closers)
    const { DATABASE_URL: url, API_POOL_SIZE: maxConnections } = config
    const database = openDatabase({ url, maxConnections, statementTimeoutMs: READ_WITHIN_MS, log }, closers)
    const changes = closers.add('changes', createChanges({ url, database, log }), (it) => it.close())
    const identity = createIdentity({
      userinfoUrl: config.IDENTITY_USERINFO_URL,
      claims: config.IDENTITY_CLAIMS,
      timeoutMs: config.IDENTITY_TIMEOUT_MS,
      now: performance.now.bind(performance),
    })
    closers.add('identity provider', identity, (it) => it.close())
    const pricing = createPricingClient({ url: config.ENGINE_URL, timeoutMs: config.ENGINE_TIMEOUT_MS })
    closers.add('pricing engine', pricing, (it) => it.close())
    const app = await buildApp({
      sources: sourcesOf(chains, database, changes, config.MAX_LAG_SECONDS),
      identity,
      pricing,
      defaultChainId: config.DEFAULT_CHAIN_ID,
      maxPageBytes: config.PAGE_CACHE_BYTES,
      maxStreams: config.MAX_STREAMS,
      draining: drain.signal,
      log,
    })
    closers.add('http server', app, (it) => it.close())
    await app.listen({ host: config.HOST, port: config.PORT, backlog: BACKLOG })
    closers.add('drain', drain, (it) => it.begin())
  })
}

const OPENAPI_FILE = packaged('docs/openapi.json')

/** Writes what `/v1/openapi.json` serves to the repository; with `check`, exit code 1 when the file there says something else. */
export const runOpenapi = async ({ check }: { readonly check: boolean }): Promise<void> => {
  const log = createLogger({ level: 'error', process: 'openapi' })
  const closers = createClosers()
  try {
    // Routes describe themselves without asking anybody, so nothing has to be in reach.
    const nowhere = { url: 'postgres://127.0.0.1:9/none', maxConnections: 1, statementTimeoutMs: 1, log }
    const database = openDatabase(nowhere, closers)
    const changes = closers.add('changes', createChanges({ ...nowhere, database }), (it) => it.close())
    const identity = createIdentity({ userinfoUrl: undefined, claims: defaultClaims, timeoutMs: 1, now: Date.now })
    closers.add('identity provider', identity, (it) => it.close())
    const pricing = createPricingClient({ url: 'http://127.0.0.1:9', timeoutMs: 1 })
    closers.add('pricing engine', pricing, (it) => it.close())
    const app = await buildApp({
      sources: sourcesOf(new Map(), database, changes, 0),
      identity,
      pricing,
      defaultChainId: 8453,
      maxPageBytes: 1,
      maxStreams: 1,
      draining: new AbortController().signal,
      log,
    })
    closers.add('app', app, (it) => it.close())
    const served = await app.inject('/v1/openapi.json')
    if (served.statusCode !== 200) throw new Error('the API cannot describe itself')
    const text = `${JSON.stringify(served.json(), null, 2)}\n`
    if (!check) await writeFile(OPENAPI_FILE, text)
    else if (text !== (await readFile(OPENAPI_FILE, 'utf8'))) {
      process.stderr.write('docs/openapi.json is not what the API serves: run npm run openapi\n')
      process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}

/** The indexer and its jobs until a signal. */
export const runWorker = async (): Promise<void> => {
  const config = load(environments.worker)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'worker' })
  await serve({ log }, async (closers) => {
    const chains = openChains(config, config.POLL_MS, log, closers)
    const { DATABASE_URL: url, WORKER_POOL_SIZE: maxConnections } = config
    const pool = { url, statementTimeoutMs: WORK_WITHIN_MS, log }
    const database = openDatabase({ ...pool, maxConnections }, closers)
    const stop = new AbortController()
    // However many jobs wait for the database, the index does not.
    const indexing = openDatabase({ ...pool, maxConnections: chains.size, signal: stop.signal }, closers)
    const jobs = closers.add(
      'jobs',
      createJobs({ redisUrl: config.REDIS_URL, prefix: config.JOBS_PREFIX, log }),
      (it) => it.close(),
    )
    const calibrate = createCalibrator({
      market: openMarket({ ...ratesOf(config), now: Date.now, log }),
      find: (model) => newestSet(database, model),
      append: (model, pairs) => appendSet(database, model, pairs),
      log,
    })
    const observers = new Map(
      [...chains].map(([chainId, chain]) => {
        const pace = createPace(OBSERVE_AT_MOST_EVERY_MS)
        return [chainId, { ...createObserver({ chain, database, log }), pace }] as const
      }),
    )
    await jobs.work({
      async sweep({ chainId }, signal) {
        await markChangeable(database, chainId, signal)
        await jobs.add('observe', { chainId })
      },
      async observe({ chainId }, signal) {
        const observer = observers.get(chainId)
        if (observer === undefined) throw new Error(`this worker has no chain ${chainId}`)
        await observer.pace(signal)
        await observer.observeAll(signal)
      },
      audit: ({ chainId }, signal) => {
        const chain = chainOf({ chains }, chainId)
        return auditSlice({ chain, database, confirm: createConfirm(chain), signal, log })
      },
      calibrate: (_, signal) => calibrate(signal),
    })

    const following = Promise.all(
      [...chains].map(([chainId, chain]) => {
        const onNoted = (): void => jobs.ask('observe', { chainId })
        const session = openDatabase({ ...pool, maxConnections: 1 }, closers)
        return follow({ chain, database: indexing, session, pollMs: config.POLL_MS, onNoted, log }, stop.signal)
      }),
    )
    closers.add('followers', stop, async (it) => {
      it.abort()
      await following
    })
    void whenSettled(stop.signal, async () => {
      for (const chainId of chains.keys()) {
        await jobs.repeat('observe', { chainId }, OBSERVE_EVERY_MS)
        await jobs.repeat('sweep', { chainId }, SWEEP_EVERY_MS)
        await jobs.repeat('audit', { chainId }, AUDIT_EVERY_MS)
      }
      await jobs.repeat('calibrate', {}, config.CALIBRATION_INTERVAL_MS)
    })
    log.info({ jobs: config.REDIS_URL === undefined ? 'in process' : 'redis' }, 'worker started')
  })
}

/** Sweeps, audits and above all calibrating take a processor for a while: a worker that starts sees to its index first. */
const whenSettled = async (signal: AbortSignal, schedule: () => Promise<void>): Promise<void> => {
  await sleep(SETTLED_AFTER_MS, signal)
  if (!signal.aborted) await schedule()
}

/** Brings the database to the schema of this version. */
export const runMigrate = async (): Promise<void> => {
  const config = load(environments.migrate)
  await migrate({
    databaseUrl: config.DATABASE_URL,
    log: createLogger({ level: config.LOG_LEVEL, process: 'migrate' }),
  })
}

/** The whole system on embedded parts until a signal; what it prints is for the person at the terminal. */
export const runSandbox = async (flags: {
  readonly quiet: boolean
  readonly persist: string | undefined
}): Promise<void> => {
  const config = load(environments.sandbox)
  await runEmbedded({
    ports: { api: config.PORT, rpc8453: config.SANDBOX_RPC_PORT_8453, rpc56: config.SANDBOX_RPC_PORT_56 },
    persistDir: flags.persist,
    quiet: flags.quiet,
    redisUrl: config.REDIS_URL,
    service: {
      command: process.execPath,
      // As we were started ourselves: from the build, or from the sources with a loader.
      args: [...process.execArgv, ...process.argv.slice(1, 2)],
      env: { ...inherited(), LOG_LEVEL: config.LOG_LEVEL, POLL_MS: String(SANDBOX_POLL_MS), DRAIN_MS: '0' },
    },
    print: (line) => void process.stdout.write(`${line}\n`),
  })
}

/** Compares the index with every chain and prints the counts; exit code 1 when they differ. */
export const runAudit = async (): Promise<void> => {
  const config = load(environments.audit)
  const log = createLogger({ level: 'silent', process: 'audit' })
  const closers = createClosers()
  try {
    const { DATABASE_URL: url } = config
    const database = openDatabase({ url, maxConnections: 4, statementTimeoutMs: WORK_WITHIN_MS, log }, closers)
    for (const chain of openChains(config, config.NODE_TIMEOUT_MS, log, closers).values()) {
      const meter = createMeter({ stream: process.stderr, now: performance.now.bind(performance) })
      const report = await audit({ chain, database, meter })
      meter.close()
      process.stdout.write(`${formatAudit(report)}\n`)
      if (report.found > 0) process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}

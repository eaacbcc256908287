import { fileURLToPath } from 'node:url'
import { buildApp } from './api/app.ts'
import { type Chain, createChain } from './chain/chain.ts'
import { chainsOf, environments, inherited, load } from './config.ts'
import { migrate } from './db/migrate.ts'
import { createDatabase, type Database } from './db/pool.ts'
import { createQueries } from './db/query.ts'
import { markChangeable } from './db/unobserved.ts'
import { createIdentity } from './identity/verify.ts'
import { audit, formatAudit } from './indexer/audit.ts'
import { follow } from './indexer/follow.ts'
import { createJobs, type Jobs } from './jobs/run.ts'
import { errorText } from './lib/errors.ts'
import { type Closers, createClosers, sleep } from './lib/lifecycle.ts'
import { createLogger, type Logger } from './lib/log.ts'
import { serve } from './lib/serve.ts'
import type { ChainId } from './protocol/chains.ts'
import { runSandbox as runEmbedded } from './sandbox/run.ts'

/** How often everything that can still change is looked at again, in milliseconds. */
const SWEEP_EVERY_MS = 60_000

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

const openDatabase = (url: string, maxConnections: number, log: Logger, closers: Closers): Database =>
  closers.add('database', createDatabase({ url, maxConnections, statementTimeoutMs: 10_000, log }), (it) => it.close())

/** The HTTP API until a signal. */
export const runApi = async (): Promise<void> => {
  const config = load(environments.api)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'api' })
  await serve(log, async (closers) => {
    const chains = openChains(config, config.HEAD_MAX_AGE_MS, log, closers)
    const queries = createQueries(openDatabase(config.DATABASE_URL, config.API_POOL_SIZE, log, closers))
    const identity = createIdentity({
      userinfoUrl: config.IDENTITY_USERINFO_URL,
      claims: config.IDENTITY_CLAIMS,
      timeoutMs: config.IDENTITY_TIMEOUT_MS,
      now: performance.now.bind(performance),
    })
    closers.add('identity provider', identity, (it) => it.close())
    const app = await buildApp({
      sources: { chains, queries },
      identity,
      defaultChainId: config.DEFAULT_CHAIN_ID,
      maxLagSeconds: config.MAX_LAG_SECONDS,
      log,
    })
    closers.add('http server', app, (it) => it.close())
    await app.listen({ host: config.HOST, port: config.PORT })
  })
}

/** The indexer and its jobs until a signal. */
export const runWorker = async (): Promise<void> => {
  const config = load(environments.worker)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'worker' })
  await serve(log, async (closers) => {
    const chains = openChains(config, config.POLL_MS, log, closers)
    const database = openDatabase(config.DATABASE_URL, config.WORKER_POOL_SIZE, log, closers)
    const jobs = closers.add('jobs', createJobs({ redisUrl: config.REDIS_URL, log }), (it) => it.close())
    await jobs.work({ sweep: ({ chainId }) => markChangeable(database, chainId) })

    const stop = new AbortController()
    const following = Promise.all(
      [...chains.values()].map((chain) => follow({ chain, database, pollMs: config.POLL_MS, log }, stop.signal)),
    )
    closers.add('followers', stop, async (it) => {
      it.abort()
      await following
    })
    void schedule(jobs, [...chains.keys()], log, stop.signal)
    log.info({ jobs: config.REDIS_URL === undefined ? 'in process' : 'redis' }, 'worker started')
  })
}

/** Schedules the sweeps; a queue out of reach delays them and never holds up the index. */
const schedule = async (jobs: Jobs, chains: readonly ChainId[], log: Logger, signal: AbortSignal): Promise<void> => {
  try {
    for (const chainId of chains) await jobs.repeat('sweep', { chainId }, SWEEP_EVERY_MS)
  } catch (fault) {
    log.warn({ fault: errorText(fault) }, 'sweeps not scheduled yet')
    await sleep(5_000, signal)
    if (!signal.aborted) await schedule(jobs, chains, log, signal)
  }
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
      args: ['--import', import.meta.resolve('tsx'), fileURLToPath(new URL('cli.ts', import.meta.url))],
      env: { ...inherited(), LOG_LEVEL: config.LOG_LEVEL, POLL_MS: String(SANDBOX_POLL_MS) },
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
    const database = openDatabase(config.DATABASE_URL, 4, log, closers)
    for (const chain of openChains(config, config.NODE_TIMEOUT_MS, log, closers).values()) {
      const report = await audit({ chain, database })
      process.stdout.write(`${formatAudit(report)}\n`)
      if (report.differences.length > 0) process.exitCode = 1
    }
  } finally {
    await closers.close()
  }
}

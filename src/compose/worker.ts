import { setMaxListeners } from 'node:events'
import { measureChains } from '../chain/metrics.ts'
import { environments } from '../config/environments.ts'
import { type ConfigOf, load } from '../config/load.ts'
import { metricsOf, ratesOf, secretsOf } from '../config/parts.ts'
import { appendSet, newestSet } from '../db/calibrations.ts'
import { DEMANDS, parseDemand } from '../db/changes/demand.ts'
import { createNotificationListener } from '../db/changes/notification-listener.ts'
import { sumSomeRows } from '../db/index/totals.ts'
import { requestSweep } from '../db/index/work/refresh-queue.ts'
import { isAuditDue } from '../db/index/work/upgrades.ts'
import { limitConnections } from '../db/limited.ts'
import { measureDatabases } from '../db/metrics.ts'
import { auditLedger } from '../indexer/audit/ledger.ts'
import { auditPasts } from '../indexer/audit/pasts.ts'
import { createConfirm } from '../indexer/audit/repair.ts'
import { auditSlice } from '../indexer/audit/slice.ts'
import { createDemand } from '../indexer/demand.ts'
import { reportFinalSettlements } from '../indexer/finalize.ts'
import { follow } from '../indexer/follow.ts'
import { createLogGaps } from '../indexer/log-gaps.ts'
import { createObserver } from '../indexer/observer.ts'
import { watchStartBlock } from '../indexer/start-block.ts'
import { measureJobs } from '../jobs/metrics.ts'
import { createJobs } from '../jobs/run.ts'
import { type Closers, sleep } from '../lib/lifecycle.ts'
import { createLogger, type Logger } from '../lib/observe/log.ts'
import { createMetrics } from '../lib/observe/metrics.ts'
import { createCalibrator } from '../pricing/calibration-sets.ts'
import { openMarket } from '../pricing/market/open-market.ts'
import { configureChains } from '../protocol/chains.ts'
import { knownTokens } from '../protocol/tokens.ts'
import { createWebhookJobs } from '../webhooks/jobs.ts'
import { measureWebhooks } from '../webhooks/metrics.ts'
import { createPost } from '../webhooks/post.ts'
import { createVault } from '../webhooks/secrets.ts'
import { sendDemands, storedHeadIn } from './leader.ts'
import { serveMetrics } from './metrics-server.ts'
import { openChains, openDatabase, requireProfiles, requireVersionOf, WORK_WITHIN_MS } from './parts.ts'
import { serve } from './serve.ts'
import { createThrottle } from './throttle.ts'

/** Milliseconds between two sweeps, which refresh every record that can still change. */
const SWEEP_EVERY_MS = 60_000

/** The index asks for an observation when it has noted something; so often it is made sure of, in milliseconds. */
const OBSERVE_EVERY_MS = 1_000

/** What is noted within so many milliseconds is observed together: an event that many buy from is read once. */
const OBSERVE_AT_MOST_EVERY_MS = 250

/** Milliseconds between comparisons of the next slice of an index with its chain. */
const AUDIT_EVERY_MS = 60_000

/** Maximum parts of the ledger that one run of the audit compares. */
const LEDGER_PARTS = 2

/** Milliseconds between searches for gaps that are due: blocks that the index was written without their logs. */
const GAPS_EVERY_MS = 2_000

/** Milliseconds between searches for settlements that became final. */
const FINALIZE_EVERY_MS = 5_000

/** Milliseconds between searches for rows of the ledger that are not summed. */
const SUM_EVERY_MS = 60_000

/** Milliseconds between searches for webhooks that are due. */
const DISPATCH_EVERY_MS = 1_000

/**
 * The times of a worker's database. No client waits for its connections, and on a machine that starts everything at once
 * one to a healthy database takes more than a second. A database that is down refuses immediately.
 */
const WORKER_TIMES = { statementTimeoutMs: WORK_WITHIN_MS, connectTimeoutMs: 5_000 }

/** Maximum slices that one run of the audit compares after an upgrade. */
const MOST_SLICES = 1_000

/** Milliseconds after its start at which a worker begins its deferrable jobs. */
const SETTLED_AFTER_MS = 5_000

/**
 * Opens the worker of a configuration: the indexer and its jobs. Each part closes with `closers`.
 */
export const openWorker = async (
  config: ConfigOf<typeof environments.worker>,
  log: Logger,
  closers: Closers,
  times = WORKER_TIMES,
): Promise<void> => {
  const metrics = createMetrics()
  const served = await serveMetrics({ metrics, ...metricsOf(config), log })
  closers.add('metrics', served, (it) => it.close())
  const { DATABASE_URL: url, WORKER_POOL_SIZE: maxConnections } = config
  const pool = { url, ...times, log }
  const unlimited = openDatabase({ ...pool, name: 'jobs', maxConnections }, closers)
  // Jobs begin together, and on a busy machine each takes long. They wait for a connection in turn, without a time-out: at
  // the pool, those that wait long would fail while the database is in reach.
  const database = limitConnections(unlimited, maxConnections)
  await requireVersionOf(unlimited, log, closers)
  const storedHead = storedHeadIn(unlimited)
  const ask = sendDemands(unlimited)
  const chains = openChains(config, log, closers, (chainId) => ({ head: storedHead(chainId), ask: ask(chainId) }))
  await requireProfiles(chains.values())
  const stop = new AbortController()
  // Every chain listens to this signal.
  setMaxListeners(0, stop.signal)
  // A separate pool, so that the index never waits behind jobs.
  const indexing = openDatabase({ ...pool, name: 'index', maxConnections: chains.size, signal: stop.signal }, closers)
  const jobs = closers.add('jobs', createJobs({ redisUrl: config.REDIS_URL, prefix: config.JOBS_PREFIX, log }), (it) =>
    it.close(),
  )
  configureChains([...chains.keys()])
  measureChains(metrics, chains)
  measureDatabases(metrics, { jobs: database, index: indexing })
  measureJobs(metrics, jobs)
  measureWebhooks(metrics, unlimited)
  const calibrate = createCalibrator({
    market: openMarket({ ...ratesOf(config), now: Date.now, log }),
    find: (model) => newestSet(database, model),
    append: (model, pairs) => appendSet(database, model, pairs),
    log,
  })
  const observers = new Map(
    [...chains].map(([chainId, chain]) => {
      const throttle = createThrottle(OBSERVE_AT_MOST_EVERY_MS)
      return [chainId, { ...createObserver({ chain, database, log }), throttle }] as const
    }),
  )
  const gaps = new Map([...chains].map(([chainId, chain]) => [chainId, createLogGaps({ chain, database, log })]))
  // Endpoints are many. On a busy machine their work would keep every connection from the observers.
  const half = limitConnections(database, Math.max(1, Math.floor(maxConnections / 2)))
  const delivering = config.WEBHOOKS_KEY && {
    database: half,
    tokens: knownTokens([...chains.values()].map(({ deployment }) => deployment)),
    vault: createVault(config.WEBHOOKS_KEY),
    now: Date.now,
    random: Math.random,
    post: createPost({ allowsLoopback: config.WEBHOOKS_ALLOW_LOOPBACK }),
  }
  const request = (endpoint: string): Promise<void> => jobs.add('deliver', { endpoint })
  const webhooks = createWebhookJobs(database, delivering ?? null, request)
  await jobs.work({
    // The queue may hold jobs of chains that only other workers have, or that were removed from CHAINS: they are
    // skipped.
    async sweep({ chainId }, signal) {
      if (!chains.has(chainId)) return
      await requestSweep(database, chainId, signal)
      await jobs.add('observe', { chainId })
    },
    async observe({ chainId }, signal) {
      const observer = observers.get(chainId)
      if (observer === undefined) return
      await observer.throttle(signal)
      await observer.observeAll(signal)
    },
    async audit({ chainId }, signal) {
      const chain = chains.get(chainId)
      if (chain === undefined) return
      const slice = { chain, database, confirm: createConfirm(chain), signal, log }
      for (let parts = 0; parts < LEDGER_PARTS && (await auditLedger({ chain, database, log })); parts += 1);
      await auditPasts({ chain, database, log, random: Math.random })
      // One slice per run, and many without a pause after an upgrade.
      for (let slices = 0; slices < MOST_SLICES && (await auditSlice(slice)); slices += 1)
        if (signal.aborted || !(await isAuditDue(database, chainId))) return
    },
    async gaps({ chainId }, signal) {
      await gaps.get(chainId)?.fill(signal)
    },
    async finalize({ chainId }, signal) {
      const chain = chains.get(chainId)
      if (chain !== undefined) await reportFinalSettlements({ chain, database }, signal)
    },
    async sum({ chainId }, signal) {
      while (!signal.aborted && (await sumSomeRows(database, chainId)));
    },
    dispatch: () => webhooks.dispatch(),
    deliver: (payload, signal) => webhooks.deliver(payload, signal),
    calibrate: (_, signal) => calibrate(signal),
  })

  const followed = [...chains.values()].map((chain) => ({ chain, demand: createDemand() }))
  const listener = createNotificationListener({
    url,
    channel: DEMANDS,
    log,
    onNotify(payload) {
      const asked = payload === null ? null : parseDemand(payload)
      if (asked === null) return
      followed.find(({ chain }) => chain.chainId === asked.chainId)?.demand.ask(asked.block, asked.ms)
    },
  })
  closers.add('demands', listener, (it) => it.close())
  const pollMs = { idle: config.IDLE_POLL_MS, fast: config.FAST_POLL_MS }
  const following = Promise.all(
    followed.map(({ chain, demand }) => {
      const onWrite = (): void => jobs.ask('observe', { chainId: chain.chainId })
      const session = openDatabase({ ...pool, maxConnections: 1 }, closers)
      return follow(
        { chain, database: indexing, session, pollMs, demand, onWrite, jobsFault: jobs.fault, log },
        stop.signal,
      )
    }),
  )
  const watching = Promise.all([...chains.values()].map((chain) => watchStartBlock({ chain, log }, stop.signal)))
  closers.add('followers', stop, async (it) => {
    it.abort()
    await Promise.all([following, watching])
  })
  void whenSettled(stop.signal, async () => {
    for (const chainId of chains.keys()) {
      await jobs.repeat('observe', { chainId }, OBSERVE_EVERY_MS)
      await jobs.repeat('sweep', { chainId }, SWEEP_EVERY_MS)
      await jobs.repeat('audit', { chainId }, AUDIT_EVERY_MS)
      await jobs.repeat('gaps', { chainId }, GAPS_EVERY_MS)
      await jobs.repeat('finalize', { chainId }, FINALIZE_EVERY_MS)
      await jobs.repeat('sum', { chainId }, SUM_EVERY_MS)
    }
    await jobs.repeat('dispatch', {}, DISPATCH_EVERY_MS)
    await jobs.repeat('calibrate', {}, config.CALIBRATION_INTERVAL_MS)
  })
  log.info({ jobs: config.REDIS_URL === undefined ? 'in process' : 'redis' }, 'worker started')
}

/** Runs the indexer and its jobs until a signal. */
export const runWorker = async (): Promise<void> => {
  const config = load(environments.worker)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'worker', secrets: secretsOf(config) })
  await serve({ log }, (closers) => openWorker(config, log, closers))
}

/**
 * Delays the schedule of sweeps, audits and calibrations, which need much processor time: a starting worker updates its
 * index first.
 */
const whenSettled = async (signal: AbortSignal, schedule: () => Promise<void>): Promise<void> => {
  await sleep(SETTLED_AFTER_MS, signal)
  if (!signal.aborted) await schedule()
}

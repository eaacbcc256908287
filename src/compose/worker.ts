import { measureChains } from '../chain/metrics.ts'
import { environments } from '../config/environments.ts'
import { load } from '../config/load.ts'
import { metricsOf, ratesOf, secretsOf } from '../config/parts.ts'
import { appendSet, newestSet } from '../db/calibrations.ts'
import { measureDatabases } from '../db/metrics.ts'
import { createRenderer } from '../db/rendering.ts'
import { rerender } from '../db/rerender.ts'
import { markChangeable } from '../db/unobserved.ts'
import { isAuditDue } from '../db/upgrades.ts'
import { createConfirm } from '../indexer/audit-repair.ts'
import { auditSlice } from '../indexer/audit-slice.ts'
import { follow } from '../indexer/follow.ts'
import { createObserver } from '../indexer/observer.ts'
import { watchStartBlock } from '../indexer/start-block.ts'
import { measureJobs } from '../jobs/metrics.ts'
import { createJobs } from '../jobs/run.ts'
import { sleep } from '../lib/lifecycle.ts'
import { createLogger } from '../lib/log.ts'
import { createMetrics } from '../lib/metrics.ts'
import { serveMetrics } from '../lib/metrics-server.ts'
import { createPace } from '../lib/pace.ts'
import { serve } from '../lib/serve.ts'
import { createCalibrator } from '../pricing/calibration-sets.ts'
import { openMarket } from '../pricing/market/open-market.ts'
import { chainOf } from '../reads/read.ts'
import { openChains, openDatabase, requireVersionOf, WORK_WITHIN_MS } from './parts.ts'

/** How often everything that can still change is looked at again, in milliseconds. */
const SWEEP_EVERY_MS = 60_000

/** The index asks for an observation when it has noted something; so often it is made sure of, in milliseconds. */
const OBSERVE_EVERY_MS = 1_000

/** What is noted within so many milliseconds is observed together: an event that many buy from is read once. */
const OBSERVE_AT_MOST_EVERY_MS = 1_000

/** How often the next slice of an index is compared with its chain, in milliseconds. */
const AUDIT_EVERY_MS = 30_000

/** How often rows without a text, or with one of an earlier format, are searched for, in milliseconds. */
const RENDER_EVERY_MS = 60_000

/**
 * How long a worker waits for a connection, in milliseconds: no client waits for it, and on a machine that is busy starting everything a
 * connection to a healthy database takes more than a second. One that is down refuses at once.
 */
const CONNECT_WITHIN_MS = 5_000

/** Slices that one run of the audit compares after an upgrade, at most. */
const MOST_SLICES = 1_000

/** How long after its start a worker does what can wait, in milliseconds. */
const SETTLED_AFTER_MS = 5_000

/** The indexer and its jobs until a signal. */
export const runWorker = async (): Promise<void> => {
  const config = load(environments.worker)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'worker', secrets: secretsOf(config) })
  await serve({ log }, async (closers) => {
    const metrics = createMetrics()
    const served = await serveMetrics({ metrics, ...metricsOf(config), log })
    closers.add('metrics', served, (it) => it.close())
    const chains = openChains(config, config.POLL_MS, log, closers)
    const { DATABASE_URL: url, WORKER_POOL_SIZE: maxConnections } = config
    const pool = { url, statementTimeoutMs: WORK_WITHIN_MS, connectTimeoutMs: CONNECT_WITHIN_MS, log }
    const database = openDatabase({ ...pool, name: 'jobs', maxConnections }, closers)
    await requireVersionOf(database, log, closers)
    const stop = new AbortController()
    // However many jobs wait for the database, the index does not.
    const indexing = openDatabase({ ...pool, name: 'index', maxConnections: chains.size, signal: stop.signal }, closers)
    const jobs = closers.add(
      'jobs',
      createJobs({ redisUrl: config.REDIS_URL, prefix: config.JOBS_PREFIX, log }),
      (it) => it.close(),
    )
    measureChains(metrics, chains)
    measureDatabases(metrics, { jobs: database, index: indexing })
    measureJobs(metrics, jobs)
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
      async audit({ chainId }, signal) {
        const chain = chainOf({ chains }, chainId)
        const slice = { chain, database, confirm: createConfirm(chain), signal, log }
        // A slice at a time, and after an upgrade many without a pause.
        for (let slices = 0; slices < MOST_SLICES && (await auditSlice(slice)); slices += 1)
          if (signal.aborted || !(await isAuditDue(database, chainId))) return
      },
      async render({ chainId }, signal) {
        const renderer = createRenderer(chainOf({ chains }, chainId).deployment)
        const rows = await rerender(database, chainId, renderer, signal)
        if (rows > 0) log.info({ chainId, rows }, 'rows of lists were rendered again')
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
        await jobs.repeat('render', { chainId }, RENDER_EVERY_MS)
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

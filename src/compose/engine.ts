import { writeFile } from 'node:fs/promises'
import { openNodes } from '../chain/nodes.ts'
import { environments } from '../config/environments.ts'
import { type ConfigOf, load } from '../config/load.ts'
import { engineOf, metricsOf, secretsOf, signedDeploymentsOf, unsignedEngineOf } from '../config/parts.ts'
import { errorText, OperatorError, ServiceError } from '../lib/errors.ts'
import { parseInput } from '../lib/http/parse.ts'
import { type Closers, sleep } from '../lib/lifecycle.ts'
import { createLogger, type Logger } from '../lib/observe/log.ts'
import { createMetrics } from '../lib/observe/metrics.ts'
import { listening } from '../lib/port-taken.ts'
import type { FindSet } from '../pricing/calibration-sets.ts'
import type { SigningDeployment } from '../pricing/chain-times.ts'
import { drawChart } from '../pricing/chart/chart.ts'
import { ChartRequest } from '../pricing/chart/request.ts'
import { type Engine, openEngine } from '../pricing/engine.ts'
import type { Quote } from '../pricing/messages.ts'
import { buildEngineApp } from '../pricing/server.ts'
import { configureChains } from '../protocol/chains.ts'
import { createDrain, type Drain } from './drain.ts'
import type { storedHeadIn } from './leader.ts'
import { serveMetrics } from './metrics-server.ts'
import { serve } from './serve.ts'

/*
 * The engine's composition, separate from the other processes: the engine loads no queue, reads only the newest block
 * of each chain, and loads a database driver only when a database is configured. No other process loads its key.
 */

type Config = ConfigOf<typeof environments.engine>

/** Maximum milliseconds of a query for stored calibrations. It is short because the engine can calibrate itself. */
const FIND_WITHIN_MS = 2_000

/** What the engine reads from a database: calibrations, and the heads that the worker has stored. */
type Stored = { readonly findSet: FindSet; readonly head: ReturnType<typeof storedHeadIn> }

/** Reads a database. The driver is loaded only when a database is configured, because it takes memory. */
const openStored = async (url: string, log: Logger, closers: Closers): Promise<Stored> => {
  const [{ createDatabase }, { newestSet }, { requireVersionOnceReached }, leader] = await Promise.all([
    import('../db/pool.ts'),
    import('../db/calibrations.ts'),
    import('../db/versions.ts'),
    import('./leader.ts'),
  ])
  const options = { url, maxConnections: 1, statementTimeoutMs: FIND_WITHIN_MS, connectTimeoutMs: FIND_WITHIN_MS, log }
  const database = closers.add('database', createDatabase(options), (it) => it.close())
  const { signal } = closers.add('version', new AbortController(), (it) => it.abort())
  await requireVersionOnceReached({ database, log, signal })
  return { findSet: (model) => newestSet(database, model), head: leader.storedHeadIn(database) }
}

/** The deployments that quotes are signed for. Their nodes are used only to read the newest block. */
const openDeployments = (
  config: Config,
  stored: Stored | undefined,
  log: Logger,
  closers: Closers,
): SigningDeployment[] =>
  signedDeploymentsOf(config).map(({ chainId, diamond, rpcUrls }) => {
    if (rpcUrls.length === 0) return { chainId, diamond }
    const nodes = { rpcUrls, timeoutMs: config.NODE_TIMEOUT_MS, headMaxAgeMs: config.HEAD_MAX_AGE_MS }
    const leader = stored && { head: stored.head(chainId) }
    const { registry, head } = openNodes({ chainId, ...nodes, leader, log })
    closers.add(`chain ${chainId}`, registry, (it) => it.close())
    return { chainId, diamond, headTime: async () => (await head.latest()).timestamp }
  })

/**
 * Opens the pricing engine of a configuration, and what it needs. Each part closes with `closers`.
 */
export const openEngineService = async (
  config: Config,
  drain: Drain,
  log: ReturnType<typeof createLogger>,
  closers: Closers,
): Promise<void> => {
  const { DATABASE_URL: url } = config
  const stored = url === undefined ? undefined : await openStored(url, log, closers)
  const findSet = stored?.findSet
  const deployments = config.ENGINE_PRIVATE_KEY === undefined ? [] : openDeployments(config, stored, log, closers)
  const engine = await openEngine({ ...engineOf(config), deployments, findSet, now: Date.now, log })
  const metrics = createMetrics()
  const served = await serveMetrics({ metrics, ...metricsOf(config), log })
  closers.add('metrics', served, (it) => it.close())
  const server = buildEngineApp({ engine, draining: drain.signal, metrics, log })
  const app = closers.add('http server', server, (it) => it.close())
  const listen = app.listen({ host: config.ENGINE_HOST, port: config.ENGINE_PORT })
  await listening(listen, config.ENGINE_PORT, 'ENGINE_PORT')
  log.info({ signer: engine.signerAddress }, 'engine started')
  const stop = closers.add('refresh', new AbortController(), (it) => it.abort())
  void keepFresh(engine, config.ENGINE_REFRESH_MS, log, stop.signal)
  void engine.watchChains(stop.signal)
  closers.add('drain', drain, (it) => it.begin())
}

/** Runs the pricing engine until a signal, with a periodic refresh of its rates. */
export const runEngine = async (): Promise<void> => {
  const config = load(environments.engine)
  configureChains(config.CHAINS)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'engine', secrets: secretsOf(config) })
  const drain = createDrain({ ms: config.DRAIN_MS, log })
  await serve({ log, drainMs: config.DRAIN_MS }, (closers) => openEngineService(config, drain, log, closers))
}

const keepFresh = async (engine: Engine, everyMs: number, log: Logger, signal: AbortSignal): Promise<void> => {
  for (;;) {
    await sleep(everyMs, signal)
    if (signal.aborted) return
    await engine.refresh().catch((fault: unknown) => log.error({ err: fault }, 'refresh failed'))
  }
}

const write = async (text: string, out: string | undefined): Promise<void> => {
  if (out === undefined) return void process.stdout.write(text)
  await writeFile(out, text).catch((fault: unknown) => {
    throw new OperatorError(`${out} cannot be written: ${errorText(fault)}`)
  })
}

/**
 * Draws one quote to the file `out` or to stdout, on the configured rates, and on the synthetic ones for a pair that
 * these lack. The picture names its rates, and nothing is signed. Throws a ServiceError for invalid flags.
 */
export const runChart = async (
  pair: string | undefined,
  flags: { readonly out?: string | undefined },
): Promise<void> => {
  const config = load(environments.engine)
  configureChains(config.CHAINS)
  const { request, at } = parseInput(ChartRequest, { pair, ...flags }, 'chart')
  const log = createLogger({ level: 'warn', process: 'chart', fd: 2 })
  const now = at === undefined ? Date.now : () => at * 1000
  const quoteOn = async (rates: { readonly synthetic?: true }): Promise<Quote> => {
    const engine = await openEngine({ ...unsignedEngineOf(config), ...rates, now, log })
    return engine.quote(request)
  }
  const quote = await quoteOn({}).catch((fault: unknown) => {
    if (!(fault instanceof ServiceError) || fault.details?.[0]?.path !== 'pair') throw fault
    return quoteOn({ synthetic: true })
  })
  await write(drawChart(quote), flags.out)
}

import { writeFile } from 'node:fs/promises'
import type { z } from 'zod'
import { createNode } from '../chain/failover.ts'
import { createHead } from '../chain/head.ts'
import { createKeeper } from '../chain/keeper.ts'
import { environments } from '../config/environments.ts'
import { load } from '../config/load.ts'
import { metricsOf, ratesOf, secretsOf, signedDeploymentsOf } from '../config/parts.ts'
import { createDrain } from '../lib/drain.ts'
import { errorText, OperatorError } from '../lib/errors.ts'
import { type Closers, sleep } from '../lib/lifecycle.ts'
import { createLogger, type Logger } from '../lib/log.ts'
import { createMetrics } from '../lib/metrics.ts'
import { serveMetrics } from '../lib/metrics-server.ts'
import { parseInput } from '../lib/parse.ts'
import { serve } from '../lib/serve.ts'
import type { FindSet } from '../pricing/calibration-sets.ts'
import type { SigningDeployment } from '../pricing/chain-times.ts'
import { drawChart } from '../pricing/chart/chart.ts'
import { ChartRequest } from '../pricing/chart/request.ts'
import { type Engine, type EngineOptions, openEngine } from '../pricing/engine.ts'
import { buildEngineApp } from '../pricing/server.ts'

/*
 * The engine's composition, apart from the rest: its process loads no queue, reads of chains the newest block alone, loads a database only where
 * it is given one, and no other process loads its key.
 */

type Config = z.output<typeof environments.engine>

const optionsOf = (config: Config): Omit<EngineOptions, 'deployments' | 'findSet' | 'now' | 'log'> => ({
  key: config.ENGINE_PRIVATE_KEY,
  isProduction: config.NODE_ENV === 'production',
  ...ratesOf(config),
  usdRateUrl: config.ENGINE_USD_RATE_URL,
  localRatesFile: config.ENGINE_LOCAL_RATES_FILE,
  volMarkups: config.ENGINE_VOL_MARKUPS,
  maxStalenessDays: config.ENGINE_MAX_STALENESS_DAYS,
})

/** Longest a look for stored calibrations may take, in milliseconds: the engine can calibrate for itself. */
const FIND_WITHIN_MS = 2_000

/** Finds sets in a database; its driver takes memory, so it is loaded where there is one. */
const findIn = async (url: string, log: Logger, closers: Closers): Promise<FindSet> => {
  const [{ createDatabase }, { newestSet }, { requireVersionOnceReached }] = await Promise.all([
    import('../db/pool.ts'),
    import('../db/calibrations.ts'),
    import('../db/versions.ts'),
  ])
  const options = { url, maxConnections: 1, statementTimeoutMs: FIND_WITHIN_MS, connectTimeoutMs: FIND_WITHIN_MS, log }
  const database = closers.add('database', createDatabase(options), (it) => it.close())
  const { signal } = closers.add('version', new AbortController(), (it) => it.abort())
  await requireVersionOnceReached({ database, log, signal })
  return (model) => newestSet(database, model)
}

/** How long the newest block of a chain may be reused, in milliseconds: it is read every 2 seconds. */
const HEAD_MAX_AGE_MS = 500

/** What quotes are signed for. The nodes are asked for the newest block and for nothing else. */
const openDeployments = (config: Config, log: Logger, closers: Closers): SigningDeployment[] =>
  signedDeploymentsOf(config).map(({ chainId, diamond, rpcUrls: urls }) => {
    if (urls.length === 0) return { chainId, diamond }
    const timeoutMs = config.NODE_TIMEOUT_MS
    const keeper = createKeeper({ chainId, urls, timeoutMs, log })
    closers.add(`chain ${chainId}`, keeper, (it) => it.close())
    const node = createNode({ chainId, keeper, timeoutMs })
    const isAlone = urls.length === 1
    const head = createHead({ node, doubt: keeper.doubt, isAlone, maxAgeMs: HEAD_MAX_AGE_MS, now: Date.now })
    return { chainId, diamond, headTime: async () => (await head.latest()).timestamp }
  })

/** The pricing engine until a signal: it reads rates again all the while. */
export const runEngine = async (): Promise<void> => {
  const config = load(environments.engine)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'engine', secrets: secretsOf(config) })
  const drain = createDrain({ ms: config.DRAIN_MS, log })
  await serve({ log, drainMs: config.DRAIN_MS }, async (closers) => {
    const { DATABASE_URL: url } = config
    const findSet = url === undefined ? undefined : await findIn(url, log, closers)
    const deployments = config.ENGINE_PRIVATE_KEY === undefined ? [] : openDeployments(config, log, closers)
    const engine = await openEngine({ ...optionsOf(config), deployments, findSet, now: Date.now, log })
    const metrics = createMetrics()
    const served = await serveMetrics({ metrics, ...metricsOf(config), log })
    closers.add('metrics', served, (it) => it.close())
    const server = buildEngineApp({ engine, draining: drain.signal, metrics, log })
    const app = closers.add('http server', server, (it) => it.close())
    await app.listen({ host: config.ENGINE_HOST, port: config.ENGINE_PORT })
    log.info({ signer: engine.signerAddress }, 'engine started')
    const stop = closers.add('refresh', new AbortController(), (it) => it.abort())
    void keepFresh(engine, config.ENGINE_REFRESH_MS, log, stop.signal)
    void engine.watchChains(stop.signal)
    closers.add('drain', drain, (it) => it.begin())
  })
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
 * Draws one quote to the file `out`, else to stdout, by the configured rates and the synthetic ones: a picture says which, and nothing is
 * signed. Throws a ServiceError for flags that no quote can be made of.
 */
export const runChart = async (
  pair: string | undefined,
  flags: { readonly out?: string | undefined },
): Promise<void> => {
  const { request, at } = parseInput(ChartRequest, { pair, ...flags }, 'chart')
  const config = load(environments.engine)
  const log = createLogger({ level: 'warn', process: 'chart', fd: 2 })
  const now = at === undefined ? Date.now : () => at * 1000
  const alone = { key: undefined, deployments: [], findSet: undefined, synthetic: true }
  const engine = await openEngine({ ...optionsOf(config), ...alone, now, log })
  await write(drawChart(await engine.quote(request)), flags.out)
}

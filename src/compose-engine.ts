import { writeFile } from 'node:fs/promises'
import type { z } from 'zod'
import { environments, load } from './config.ts'
import { errorText, OperatorError } from './lib/errors.ts'
import { sleep } from './lib/lifecycle.ts'
import { createLogger, type Logger } from './lib/log.ts'
import { parseInput } from './lib/parse.ts'
import { serve } from './lib/serve.ts'
import { drawChart } from './pricing/chart/chart.ts'
import { ChartRequest } from './pricing/chart/request.ts'
import { type Engine, type EngineOptions, openEngine } from './pricing/engine.ts'
import { buildEngineApp } from './pricing/server.ts'

/*
 * The engine's composition, apart from the rest: its process loads no database, no queue and no chain, and no other loads its key.
 */

const optionsOf = (config: z.output<typeof environments.engine>): Omit<EngineOptions, 'now' | 'log'> => ({
  key: config.ENGINE_PRIVATE_KEY,
  keyFile: config.ENGINE_PRIVATE_KEY_FILE,
  ratesFolder: config.ENGINE_RATES_FOLDER,
  ecbUrl: config.ENGINE_ECB_URL,
  fredUrl: config.ENGINE_FRED_URL,
  usdRateUrl: config.ENGINE_USD_RATE_URL,
  localRatesFile: config.ENGINE_LOCAL_RATES_FILE,
  synthetic: config.ENGINE_SYNTHETIC,
  volMarkups: config.ENGINE_VOL_MARKUPS,
  maxStalenessDays: config.ENGINE_MAX_STALENESS_DAYS,
})

/** The pricing engine until a signal: it reads rates again all the while. */
export const runEngine = async (): Promise<void> => {
  const config = load(environments.engine)
  const log = createLogger({ level: config.LOG_LEVEL, process: 'engine' })
  await serve(log, async (closers) => {
    const engine = await openEngine({ ...optionsOf(config), now: Date.now, log })
    const app = closers.add('http server', buildEngineApp({ engine, log }), (it) => it.close())
    await app.listen({ host: config.ENGINE_HOST, port: config.ENGINE_PORT })
    log.info({ signer: engine.signerAddress }, 'engine started')
    const stop = closers.add('refresh', new AbortController(), (it) => it.abort())
    void keepFresh(engine, config.ENGINE_REFRESH_MS, log, stop.signal)
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
export const runChart = async (pair: string | undefined, flags: { readonly out?: string }): Promise<void> => {
  const { request, at } = parseInput(ChartRequest, { pair, ...flags }, 'chart')
  const config = load(environments.engine)
  const log = createLogger({ level: 'warn', process: 'chart', fd: 2 })
  const now = at === undefined ? Date.now : () => at * 1000
  const engine = await openEngine({
    ...optionsOf(config),
    key: undefined,
    keyFile: undefined,
    synthetic: true,
    now,
    log,
  })
  await write(drawChart(await engine.quote(request)), flags.out)
}

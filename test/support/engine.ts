import { pino } from 'pino'
import { openEngine } from '../../src/pricing/engine.ts'
import { buildEngineApp } from '../../src/pricing/server.ts'

/** A key that everybody may know. */
export const ENGINE_KEY = `0x${'01'.repeat(32)}`

/** What an engine is opened with when nothing is configured but a key and made-up rates of USD/GHS. */
export const engineOptions = {
  key: ENGINE_KEY,
  keyFile: undefined,
  findSet: undefined,
  ratesFolder: undefined,
  ecbUrl: undefined,
  fredUrl: undefined,
  usdRateUrl: undefined,
  localRatesFile: undefined,
  synthetic: true,
  volMarkups: {},
  maxStalenessDays: 7,
  now: Date.now,
}

/** The engine's own app on a free port. */
export const startEngine = async () => {
  const log = pino({ level: 'silent' })
  const app = buildEngineApp({
    engine: await openEngine({ ...engineOptions, log }),
    draining: new AbortController().signal,
    log,
  })
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), close: () => app.close() }
}

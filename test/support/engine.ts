import { pino } from 'pino'
import type { Address } from 'viem'
import { createMetrics } from '../../src/lib/observe/metrics.ts'
import type { FindSet } from '../../src/pricing/calibration-sets.ts'
import { type CalibratedPair, calibrateMarket } from '../../src/pricing/calibrations.ts'
import { type EngineOptions, openEngine } from '../../src/pricing/engine.ts'
import { openMarket } from '../../src/pricing/market/open-market.ts'
import { buildEngineApp } from '../../src/pricing/server.ts'
import { chainIds } from './known-chains.ts'

/** A key that is no secret. */
export const ENGINE_KEY = `0x${'01'.repeat(32)}`

/** The diamond of chain 8453 that the engines of tests sign for. */
export const signingTarget: Address = '0x1111111111111111111111111111111111111111'

/** The newest block of a chain, with the current time. */
const headNow = async (): Promise<bigint> => BigInt(Math.floor(Date.now() / 1_000))

/** The options of an engine with only a key and invented rates of USD/GHS. */
export const engineOptions = {
  key: ENGINE_KEY,
  chainIds,
  isProduction: false,
  findSet: undefined,
  ratesFolder: undefined,
  ecbUrl: undefined,
  fredUrl: undefined,
  usdRateUrl: undefined,
  localRatesFile: undefined,
  synthetic: true,
  volMarkups: {},
  maxStalenessDays: 7,
  deployments: chainIds.map((chainId) => ({ chainId, diamond: signingTarget, headTime: headNow })),
  now: Date.now,
}

let calibrated: Promise<readonly CalibratedPair[]> | undefined

const calibrate = async (): Promise<readonly CalibratedPair[]> => {
  const market = openMarket({ ...engineOptions, log: pino({ level: 'silent' }) })
  await market.refresh()
  return calibrateMarket(market)
}

/** Finds calibrations of all pairs, which are made once. An engine that calibrates itself takes a third of a second. */
export const findCalibrated: FindSet = async () => {
  calibrated ??= calibrate()
  return { version: 1, pairs: await calibrated }
}

/** The engine's own app on a free port; it signs for `diamond` on every chain, and more of its options may be given. */
export const startEngine = async ({
  diamond = signingTarget,
  ...options
}: Partial<EngineOptions> & { readonly diamond?: Address } = {}) => {
  const log = pino({ level: 'silent' })
  const deployments = chainIds.map((chainId) => ({ chainId, diamond, headTime: headNow }))
  const stopping = new AbortController()
  const engine = await openEngine({ ...engineOptions, deployments, ...options, log })
  const watching = engine.watchChains(stopping.signal)
  const app = buildEngineApp({ engine, draining: new AbortController().signal, metrics: createMetrics(), log })
  return {
    url: await app.listen({ host: '127.0.0.1', port: 0 }),
    async close(): Promise<void> {
      stopping.abort()
      await Promise.all([watching, app.close()])
    },
  }
}

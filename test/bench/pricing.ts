import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { calibrate } from '../../src/pricing/calibrate/calibrate.ts'
import { createPricingClient } from '../../src/pricing/client.ts'
import { openEngine } from '../../src/pricing/engine.ts'
import { bundledFeed } from '../../src/pricing/market/bundled.ts'
import { createMarket } from '../../src/pricing/market/market.ts'
import { MAX_RANGES, QuoteRequest } from '../../src/pricing/messages.ts'
import { tiers } from '../../src/pricing/tiers.ts'
import { logReturns } from '../../src/pricing/variance.ts'
import { freePort } from '../../src/sandbox/parts/ports.ts'
import { engineOptions } from '../support/engine.ts'
import { eventually } from '../support/process.ts'

/*
 * Measures quotes per second of processor time, signed and unsigned, on the history that the service includes, the time
 * of a request for values and of one pair's calibration, and the memory of a process with all pairs.
 */

const QUOTES = 5_000
const log = pino({ level: 'silent' })
const engine = await openEngine({ ...engineOptions, log })
const watching = new AbortController()
void engine.watchChains(watching.signal)

/** Milliseconds of processor time. */
const processorTime = async (work: () => Promise<void>): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const address = `0x${'1'.repeat(40)}`
const advisory = {
  pair: 'USD/GHS',
  strike: 12,
  payoutCap: 13.5,
  expiryUnixSeconds: Math.floor(Date.now() / 1_000) + 90 * 86_400,
  notional: 10_000,
  strikeAbove: true,
}
const requests = {
  'a pair': advisory,
  'a cross': { ...advisory, pair: 'EUR/JPY', strike: 162, payoutCap: 175 },
  'a signed pair': { ...advisory, chainId: 8453, diamondAddress: address, creator: address },
}
for (const [name, request] of Object.entries(requests)) {
  const parsed = QuoteRequest.parse(request)
  const quote = async (): Promise<void> => {
    for (let i = 0; i < QUOTES; i += 1) await engine.quote(parsed)
  }
  await quote()
  const spent = await processorTime(quote)
  console.log(`${name.padEnd(14)} ${Math.round((1_000 * QUOTES) / spent)} quotes per second and core`)
}

const { pair, strikeAbove, expiryUnixSeconds } = advisory
const terms = { pair, strikeAbove, expiryUnixSeconds, initialRate: '11400000', payoutCap: '13500000' }
const ranges = Array.from({ length: MAX_RANGES }, (_, nth) => ({ ...terms, strike: String(12_000_000 + nth) }))
const REQUESTS = 100
const value = async (): Promise<void> => {
  for (let i = 0; i < REQUESTS; i += 1) await engine.values({ ranges })
}
await value()
const perRequest = (await processorTime(value)) / REQUESTS
console.log(`values         ${perRequest.toFixed(1)} ms for a request of ${MAX_RANGES} ranges`)

const market = createMarket({ feeds: [bundledFeed()], now: Date.now, log })
await market.refresh()
const histories = market.pairs().flatMap((pair) => market.history(pair) ?? [])
const spent = await processorTime(async () => {
  for (const { closes } of histories) calibrate(logReturns(closes.map(({ close }) => close)), tiers.mainstreamEM)
})
console.log(`calibration    ${(spent / histories.length).toFixed(1)} ms a pair, ${histories.length} pairs`)

/** The resident memory of an engine process after some load. */
const residentMegabytes = async (): Promise<number> => {
  const port = await freePort()
  const env = {
    ...process.env,
    DATABASE_URL: '',
    ENGINE_PORT: String(port),
    ENGINE_SYNTHETIC: 'true',
    LOG_LEVEL: 'silent',
  }
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli.ts', 'engine'], { env, stdio: 'inherit' })
  const client = createPricingClient({ url: `http://127.0.0.1:${port}`, timeoutMs: 5_000 })
  try {
    await eventually('the engine answers', () => client.health().then(Boolean, () => false), 30_000)
    for (let i = 0; i < QUOTES; i += 1) await client.quote(QuoteRequest.parse(advisory))
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(child.pid)])
    return Number(stdout) / 1_024
  } finally {
    await client.close()
    child.kill()
  }
}
console.log(
  `memory         ${Math.round(await residentMegabytes())} MB resident, the engine's process after ${QUOTES} quotes over HTTP`,
)
watching.abort()

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createChainTimes } from '../../src/pricing/chain-times.ts'
import { type EngineOptions, openEngine } from '../../src/pricing/engine.ts'
import { QuoteRequest } from '../../src/pricing/messages.ts'
import { openAttester } from '../../src/pricing/quotes/attest.ts'
import { createSign, type Sign } from '../../src/pricing/quotes/signing.ts'
import { signingTarget as diamond, ENGINE_KEY, engineOptions, findCalibrated } from '../support/engine.ts'
import { startPublisher } from '../support/publisher.ts'

const DAY_MS = 86_400_000
/** Ages of rates have pure tests of their own: whole engines with each repeat them. */
const longTest = test.runIf(inject('form') === 'long')
const HOUR_S = 3_600
const log = pino({ level: 'silent' })
const creator = `0x${'2'.repeat(40)}`

const dayBefore = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

/** Closes of the last days, alternating up and down: fresh rates of a pair for a folder. */
const freshCloses = (spot: number): string =>
  ['date,close', ...Array.from({ length: 80 }, (_, i) => `${dayBefore(80 - i)},${spot * (i % 2 ? 1.004 : 1)}`)].join(
    '\n',
  )

const folder = mkdtempSync(join(tmpdir(), 'fx-signing-'))
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const localRates = (asOf: string): string =>
  file(`local-${asOf}.json`, JSON.stringify({ asOf, source: 'test', rates: { USD: 0.044, EUR: 0.02, JPY: 0.005 } }))

let usdDate = dayBefore(1)
let usd: Awaited<ReturnType<typeof startPublisher>>
beforeAll(async () => {
  file('USD-GHS.csv', freshCloses(11.4))
  file('EUR-USD.csv', freshCloses(1.1))
  file('USD-TRY.csv', freshCloses(40))
  usd = await startPublisher(() => ({ body: `observation_date,DTB3\n${usdDate},4.1\n` }))
})
afterAll(async () => {
  await usd.close()
  rmSync(folder, { recursive: true })
})

const cedi = {
  pair: 'USD/GHS',
  strike: 12,
  payoutCap: 13.5,
  expiryUnixSeconds: Math.floor(Date.now() / 1000) + 90 * 86_400,
  notional: 10_000,
  strikeAbove: true,
  chainId: 8453,
  diamondAddress: diamond,
  creator,
}
const euro = { ...cedi, pair: 'EUR/USD', strike: 1.08, payoutCap: 1, strikeAbove: false }
const lira = { ...cedi, pair: 'USD/TRY', strike: 41, payoutCap: 45 }

const production = (): EngineOptions => ({
  ...engineOptions,
  findSet: findCalibrated,
  isProduction: true,
  synthetic: false,
  ratesFolder: folder,
  usdRateUrl: usd.url,
  localRatesFile: localRates(dayBefore(10)),
  log,
})

/** Whether an engine signs a request; otherwise the reason in the breakdown. */
const outcome = async (engine: Awaited<ReturnType<typeof openEngine>>, request: object): Promise<unknown> => {
  const { attestation, breakdown } = await engine.quote(QuoteRequest.parse(request))
  const { attestation: details } = breakdown
  const reason = typeof details === 'object' && details !== null && 'reason' in details ? details.reason : undefined
  return attestation === null ? reason : 'signed'
}

describe('signing in production', () => {
  test('a quote is signed when all its rates are published and fresh, and refused without an interest rate', async () => {
    const lines: string[] = []
    const log = pino({}, { write: (line) => void lines.push(line) })
    const engine = await openEngine({ ...production(), volMarkups: { pegged: 2 }, log })
    expect(await outcome(engine, cedi)).toBe('signed')
    expect(await outcome(engine, euro)).toBe('signed')
    await expect(outcome(engine, lira)).rejects.toThrow('interest rate of TRY')
    const warned = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
    expect(warned).toMatchObject([
      { missing: expect.arrayContaining(['TRY', 'COP']), msg: expect.stringContaining('ENGINE_LOCAL_RATES_FILE') },
      { tier: 'pegged', markup: 2, floor: 0.3, msg: expect.stringContaining('ENGINE_VOL_MARKUPS') },
    ])
  })

  test('a quote on the fallback dollar rate is returned unsigned, with the reason', async () => {
    const engine = await openEngine({ ...production(), usdRateUrl: undefined })
    expect(await outcome(engine, cedi)).toMatch(/dollar rate.*configured.*ENGINE_USD_RATE_URL/)
    const { signing } = await engine.health()
    expect(signing?.rates).toEqual([expect.stringContaining('dollar rate')])
  })

  longTest('a quote on a dollar rate that was recorded too long ago is not signed', async () => {
    usdDate = dayBefore(8)
    expect(await outcome(await openEngine(production()), cedi)).toMatch(new RegExp(`dollar rate.*${usdDate}`))
    usdDate = dayBefore(1)
  })

  longTest('a quote on a dollar rate that was not fetched for half a day is not signed', async () => {
    let now = Date.now()
    const engine = await openEngine({
      ...production(),
      now: () => now,
      deployments: [{ chainId: 8453, diamond, headTime: async () => BigInt(Math.floor(now / 1000)) }],
    })
    const quote = async () => (await engine.quote(QuoteRequest.parse(cedi))).breakdown.attestation
    expect(await quote()).toMatchObject({ reason: null })
    await usd.close()
    now += 13 * HOUR_S * 1_000
    expect(await quote()).toEqual({ reason: expect.stringContaining('dollar rate was last fetched 13 h ago') })
    usd = await startPublisher(() => ({ body: `observation_date,DTB3\n${usdDate},4.1\n` }))
  })

  test('a quote whose drift follows old interest rates is not signed; an empirical drift needs none', async () => {
    const engine = await openEngine({ ...production(), localRatesFile: undefined })
    expect(await outcome(engine, euro)).toMatch(/interest rates.*2024-11-29.*ENGINE_LOCAL_RATES_FILE/)
    expect(await outcome(engine, cedi)).toBe('signed')
  })
})

test('outside production a quote is signed on the fallback dollar rate and on old interest rates', async () => {
  const engine = await openEngine({
    ...{ ...production(), isProduction: false, usdRateUrl: undefined, localRatesFile: undefined },
  })
  expect([await outcome(engine, cedi), await outcome(engine, euro)]).toEqual(['signed', 'signed'])
})

const priced: Parameters<Sign>[1] = {
  ...{ range: { strike: 1n, payoutCap: 2n, initialRate: 3n }, premiumRate: 4n, asOf: 1_790_000_000, fault: null },
}

/** Signs at the second of `priced` for chains whose newest blocks are this many seconds older. */
const signing = async (behind: number) => {
  const headTime = async () => BigInt(priced.asOf - behind)
  const deployments = [{ chainId: 8453, diamond, headTime }]
  const chainTimes = createChainTimes({ deployments, now: () => priced.asOf * 1_000, log })
  await chainTimes.readNewestBlocks()
  return createSign({ attester: openAttester({ key: ENGINE_KEY, isProduction: false }), chainTimes })
}

test.each([-9, -2, 0, 3, 9])(
  'a signed quote is dated some seconds before the clock or the newest block, %d s behind it, whichever is earlier',
  async (behind) => {
    const newestBlock = priced.asOf - behind
    const { attestation, details } = await (await signing(behind))(QuoteRequest.parse(cedi), priced)
    const dated = Math.min(priced.asOf, newestBlock) - 5
    expect(attestation).toMatchObject({ quoteTimestamp: `${dated}`, expiresAt: `${dated + 120}` })
    expect(details).toEqual({ reason: null, clock: priced.asOf, newestBlock, marginSeconds: 5 })
  },
)

test('a quote is not signed by a wrong clock, on rates with a fault, for another chain or without a creator', async () => {
  const reasonOf = async (behind: number, more: object, request: object = cedi) => {
    const sign = await signing(behind)
    return (await sign(QuoteRequest.parse(request), { ...priced, ...more })).details.reason
  }
  expect(await reasonOf(11, {})).toMatch(/clock is 11 s ahead of the newest block of chain 8453/)
  expect(await reasonOf(-11, {})).toMatch(/clock is 11 s behind the newest block of chain 8453/)
  expect(await reasonOf(0, { fault: 'the rates are old' })).toBe('the rates are old')
  expect(await reasonOf(0, {}, { ...cedi, chainId: 56 })).toMatch(/not configured for chain 56/)
  const { chainId, diamondAddress, creator: _, ...unattested } = cedi
  expect(await reasonOf(0, {}, unattested)).toMatch(/^not requested/)
})

describe('the engine’s clock', () => {
  const at = (ahead: number) => ({
    ...engineOptions,
    log,
    now: () => Date.now() + ahead * 1_000,
    deployments: [{ chainId: 8453 as const, diamond, headTime: async () => BigInt(Math.floor(Date.now() / 1_000)) }],
  })

  test('a clock that is an hour ahead of the chain signs nothing, and the quote states the reason', async () => {
    const engine = await openEngine(at(HOUR_S))
    expect(await outcome(engine, cedi)).toMatch(/clock is 36\d\d s ahead of the newest block of chain 8453/)
    expect((await engine.health()).signing?.chains).toContainEqual(
      expect.objectContaining({
        chainId: 8453,
        reason: expect.stringContaining('clock'),
        clockAheadSeconds: expect.closeTo(HOUR_S, -1),
      }),
    )
  })
})

describe('configured deployments', () => {
  const refusal = async (request: object): Promise<unknown> => {
    const sign = await signing(0)
    return sign(QuoteRequest.parse(request), priced).then(
      ({ attestation }) => attestation,
      (error: unknown) => error,
    )
  }

  test('a quote for an unconfigured diamond is rejected with its field', async () => {
    expect(await refusal({ ...cedi, diamondAddress: creator })).toMatchObject({
      code: 'validation_error',
      details: [{ path: 'diamondAddress' }],
    })
    expect(await refusal({ ...cedi, diamondAddress: diamond.toLowerCase() })).toMatchObject({
      signerAddress: expect.any(String),
    })
  })

  test('the zero address is rejected as creator', () => {
    const { error } = QuoteRequest.safeParse({ ...cedi, creator: zeroAddress })
    expect(error?.issues.map(({ path }) => path.join())).toEqual(['creator'])
  })
})

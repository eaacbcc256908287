import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { bodyOf, rangeOf, readFields } from '../../explorer/src/act/actions.ts'
import { changedValues, inputTime, type Values } from '../../explorer/src/act/fields.ts'
import { explanationOf, priceRows, unsignedText } from '../../explorer/src/quote/engine-values.ts'
import {
  cautions,
  chartRange,
  createLink,
  firstExpiry,
  firstRange,
  keyText,
  quoteFields,
  spotRequest,
} from '../../explorer/src/quote/range.ts'
import { createChainTimes } from '../../src/pricing/chain-times.ts'
import { openQuoter, quotingTime } from '../support/quoter.ts'

type Schema = { readonly properties?: Readonly<Record<string, Schema>> }

const values: Values = {
  ...{ chainId: '56', underlying: 'USD/MXN', strikeAbove: 'true', strike: '19.2', payoutCap: '21' },
  ...{ expiry: '2027-03-03T12:00', notional: '10000' },
}

describe('a quote', () => {
  it('asks the engine for plain numbers', () => {
    const filled = readFields(quoteFields, values, 6)
    expect('read' in filled && rangeOf(filled.read, 6)).toEqual({
      ...{ pair: 'USD/MXN', strike: 19.2, payoutCap: 21, expiryUnixSeconds: 1_804_075_200, notional: 10_000 },
      strikeAbove: true,
    })
  })

  it('draws its range in the integers of the protocol', () => {
    const filled = readFields(quoteFields, { ...values, strikeAbove: 'false', payoutCap: '18' }, 6)
    expect('read' in filled && chartRange(filled.read, 18.456_789_4)).toEqual({
      ...{ strike: 19_200_000n, payoutCap: 18_000_000n, initialRate: 18_456_789n, strikeAbove: false },
    })
  })

  it('learns the rate of today of every pair that the engine quotes', async () => {
    const quoter = await openQuoter()
    const rates = { 'USD/NGN': 1_450, 'EUR/USD': 1.1, 'USD/EUR': 0.909_091, 'JPY/USD': 0.006_667 }
    const expiry = firstExpiry(quotingTime / 1_000)
    for (const [pair, rate] of Object.entries(rates)) {
      const { breakdown } = await quoter.quote(spotRequest(pair, expiry))
      expect([pair, breakdown.spot]).toEqual([pair, rate])
    }
    const { breakdown } = await quoter.quote(spotRequest('USD/IDR', expiry, true))
    expect(breakdown.spot).toBe(16_000)
  })

  it('begins with a range in its direction from the rate of today', () => {
    expect(firstRange(18.4, true)).toEqual({ strike: '18.95', payoutCap: '20.79' })
    expect(firstRange(18.4, false)).toEqual({ strike: '17.85', payoutCap: '16.01' })
    expect(firstRange(0.000_4, true)).toEqual({ strike: '0.000412', payoutCap: '0.000452' })
    expect(firstRange(15_432, true)).toEqual({ strike: '15895', payoutCap: '17438' })
  })

  it('begins with an expiry at noon, 90 days from now', () => {
    const now = Date.parse('2026-11-27T03:30:00Z') / 1_000
    expect(inputTime(firstExpiry(now))).toBe('2027-02-25T12:00')
  })

  it('leads to the creation of an event whose plan asks for the same range', () => {
    const link = createLink(values)
    expect(link).toMatch(/^\/act\/create-event\?/)
    const given = Object.fromEntries(new URLSearchParams(link.split('?')[1]))
    const rest = { name: 'n', initialLiquidity: '1', paymentToken: `0x${'1'.repeat(40)}` }
    const made = bodyOf('create-event', { ...given, ...rest }, 18)
    expect('body' in made && made.body).toMatchObject({
      chainId: 56,
      quote: { pair: 'USD/MXN', strike: 19.2, payoutCap: 21, expiryUnixSeconds: 1_804_075_200, notional: 10_000 },
    })
  })
})

describe('the breakdown of a quote', () => {
  it('has its keys in words', () => {
    expect(['sigmaLongRun', 'T_years', 'garch', 'strikeFixed6'].map(keyText)).toEqual([
      ...['Sigma long run', 'T years', 'Garch', 'Strike fixed 6'],
    ])
  })

  it('is explained: every value that the API describes', async () => {
    const { components } = JSON.parse(await readFile('docs/openapi.json', 'utf8'))
    const keysOf = ({ properties = {} }: Schema): readonly string[] =>
      Object.entries(properties).flatMap(([key, schema]) => [key, ...keysOf(schema)])
    const { attestation: _, ...properties } = components.schemas.PricingBreakdown.properties
    const keys = keysOf({ properties })
    expect(keys.length).toBeGreaterThan(25)
    expect(keys.filter((key) => explanationOf(key) === undefined)).toEqual([])
    expect(explanationOf('constructor')).toBeUndefined()
  })

  it('has its main values in words', async () => {
    const { paths } = JSON.parse(await readFile('docs/openapi.json', 'utf8'))
    const { example } = paths['/v1/pricing/quote'].post.responses[200].content['application/json']
    const quote = example.data
    const { T_days, inputs } = quote.breakdown
    const rows = Object.fromEntries(priceRows({ ...quote, premiumRateFixed6: BigInt(quote.premiumRateFixed6) }))
    expect(rows).toMatchObject({
      'Time to expiry': `${Math.floor(T_days)} days`,
      Volatility: `${Number((inputs.sigma * 100).toFixed(2))} % a year`,
      Premium: `${Number(quote.premiumRateFixed6) / 10_000} % of the notional`,
    })
    expect(Object.keys(rows).length).toBeLessThanOrEqual(8)
  })

  it('warns of old, synthetic and configured data, and of nothing else', () => {
    expect(
      cautions({
        history: { stale: true, lastClose: '2024-11-29', synthetic: true },
        spotSource: { synthetic: true },
        localRates: { stale: true, asOf: '2024-11-29' },
        usdRate: { fallback: true, recordDate: '2024-11-29' },
      }),
    ).toEqual([
      'The history is old: its last close is of 2024-11-29.',
      'The rates are synthetic, no market data.',
      'The interest rates are old: they are of 2024-11-29.',
      'The dollar rate is the configured one of 2024-11-29.',
    ])
    expect(
      cautions({ history: { stale: false }, usdRate: {}, localRates: { stale: false }, spotSource: null }),
    ).toEqual([])
  })
})

it('a value that is taken back leaves the first value of the page', () => {
  const changed = changedValues({ underlying: 'USD/MXN', strike: '19' }, { underlying: 'EUR/USD', strike: undefined })
  expect({ strike: 'first', ...changed }).toEqual({ strike: 'first', underlying: 'EUR/USD' })
})

describe('why a quote is not signed', () => {
  /** The engine's reason for a chain whose newest block is `ahead` seconds older than the clock; null for no block. */
  const reasonOf = async (ahead: number | null, others: readonly number[] = []): Promise<string> => {
    const heads = [ahead, ...others].map((seconds, at) => ({
      chainId: [8453, 56][at] ?? 0,
      diamond: '0x1111111111111111111111111111111111111111' as const,
      headTime: async () => {
        if (seconds === null) throw new Error('out of reach')
        return BigInt(1_000_000 - seconds)
      },
    }))
    const now = () => 1_000_000_000
    const times = createChainTimes({ deployments: heads, now, log: pino({ level: 'silent' }) })
    await times.readNewestBlocks()
    return times.of(8453).reason ?? ''
  }

  it('is in the words of a person who does not run the engine', async () => {
    const apart = /^The clock of the engine and the time of the chain are too far apart/
    for (const reason of [await reasonOf(-86_400), await reasonOf(60), await reasonOf(60, [0])])
      expect([reason, unsignedText(reason)]).toEqual([expect.stringMatching(/./), expect.stringMatching(apart)])
    expect(unsignedText(await reasonOf(null))).toBe('The engine reaches no node of this chain at present.')
  })

  it('is that of the engine where there are no other words', () => {
    expect(unsignedText('the rates of USD/XYZ are old')).toBe(
      'The engine does not sign it: the rates of USD/XYZ are old.',
    )
    expect(unsignedText(undefined)).toBe('The engine does not sign it: it gives no reason.')
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_RANGES, ValuesRequest } from '../../src/pricing/messages.ts'
import { payoff, width } from '../../src/protocol/payoff.ts'
import { openQuoter, quotingTime } from '../support/quoter.ts'

/* The values of ranges that were bought earlier. The independent calculation integrates the payouts of the protocol. */

const DAY = 86_400
const asOf = quotingTime / 1000
const quoter = await openQuoter()
const calm = await openQuoter()
calm.calibrations.replace([
  {
    ...{ pair: 'USD/GHS', source: 'desk', lastClose: '2026-11-20', returns: 300 },
    calibration: {
      garch: { alpha: 0.12, beta: 0.83, sigmaLongRun: 0.17 },
      garchFrom: 'fit',
      jumps: { lambda: 0, jumpMean: 0, jumpStd: 0 },
      jumpsFrom: 'fit',
    },
  },
])

type Range = ValuesRequest['ranges'][number]

/** The worked example, bought at 11.40. */
const cedi: Range = {
  pair: 'USD/GHS',
  strike: '12000000',
  payoutCap: '13500000',
  initialRate: '11400000',
  strikeAbove: true,
  expiryUnixSeconds: asOf + 90 * DAY,
}

const valuesOf = async (ranges: readonly Range[], from = quoter) => {
  const answer = await from.values(ValuesRequest.parse({ ranges }))
  expect(answer.asOf).toBe(asOf)
  return answer.values
}

const rateOf = async (range: Partial<Range>, from = quoter): Promise<number> => {
  const [value] = await valuesOf([{ ...cedi, ...range }], from)
  if (value === undefined || 'reason' in value) throw new Error(`no value: ${value?.reason}`)
  return value.rate
}

const termsOf = ({ strike, payoutCap, initialRate, strikeAbove }: Range) => ({
  ...{ strike: BigInt(strike), payoutCap: BigInt(payoutCap), initialRate: BigInt(initialRate), strikeAbove },
})

/** So large that the protocol's rounding to units does not show. */
const NOTIONAL = 10n ** 24n

/** Simpson's rule. */
const integral = (f: (x: number) => number, from: number, to: number): number => {
  const steps = 400
  const at = (i: number): number => f(from + ((to - from) * i) / steps)
  let sum = at(0) + at(steps)
  for (let i = 1; i < steps; i += 1) sum += at(i) * (i % 2 === 1 ? 4 : 2)
  return (sum * (to - from)) / steps / 3
}

/**
 * The discounted mean of the protocol's payout of 1 over all settlement rates, by numerical integration for each number
 * of jumps. The inputs are those that a quote for the same term shows.
 */
const integrated = async (range: Range, from = quoter): Promise<number> => {
  const { breakdown } = await from.quote({ strike: 11.4, expiryUnixSeconds: range.expiryUnixSeconds })
  const { inputs, spot, T_years: years } = breakdown
  const { lambda, jumpMean, jumpStd } = inputs.jump
  const terms = termsOf(range)
  const payout = (rate: number): number => Number(payoff(terms, BigInt(Math.round(rate * 1e6)), NOTIONAL)) / 1e24
  const kbar = Math.exp(jumpMean + jumpStd ** 2 / 2) - 1
  let sum = 0
  let weight = Math.exp(-lambda * years)
  for (let n = 0; n < 25; n += 1) {
    const variance = inputs.sigma ** 2 * years + n * jumpStd ** 2
    const drift = (inputs.mu - lambda * kbar - inputs.sigma ** 2 / 2) * years + n * jumpMean
    const rateAt = (z: number): number => spot * Math.exp(drift + z * Math.sqrt(variance))
    const zOf = (rate: bigint): number => Math.log(Number(rate) / 1e6 / spot / Math.exp(drift)) / Math.sqrt(variance)
    // The integrand is smooth between the edges only. A millionth inside of them, the rounding cannot cross them.
    const edges = [terms.strike, terms.payoutCap || terms.strike].map(zOf)
    const cuts = [-9, ...edges.map((z) => Math.min(Math.max(z, -9), 9)).toSorted((a, b) => a - b), 9]
    const density = (z: number): number => Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI)
    for (let i = 1; i < cuts.length; i += 1) {
      const [start = 0, end = 0] = [cuts[i - 1], cuts[i]]
      const margin = 1e-5
      if (end - start > 2 * margin)
        sum += weight * integral((z) => payout(rateAt(z)) * density(z), start + margin, end - margin)
    }
    weight *= (lambda * years) / (n + 1)
  }
  return Math.exp(-inputs.r * years) * sum
}

/** Ranges on both sides of the spot of 11.40, in and out of the money, of one strike or with a cap. */
const ranges = fc
  .record({
    strike: fc.integer({ min: 9_000_000, max: 14_000_000 }),
    width: fc.integer({ min: 100_000, max: 4_000_000 }),
    isSingle: fc.boolean(),
    initialRate: fc.integer({ min: 8_000_000, max: 15_000_000 }),
    strikeAbove: fc.boolean(),
    seconds: fc.integer({ min: 2 * DAY, max: 700 * DAY }),
  })
  .map(
    ({ strike, width: distance, isSingle, initialRate, strikeAbove, seconds }): Range => ({
      pair: 'USD/GHS',
      strike: String(strike),
      payoutCap: isSingle ? '0' : String(strikeAbove ? strike + distance : strike - distance),
      initialRate: String(initialRate),
      strikeAbove,
      expiryUnixSeconds: asOf + seconds,
    }),
  )

describe('the value of a range', () => {
  test.each([
    ['with jumps', quoter],
    ['without jumps', calm],
  ] as const)('%s is the discounted mean of the protocol’s payouts', async (_, from) => {
    await fc.assert(
      fc.asyncProperty(ranges, async (range) => {
        const share = Number(width(termsOf(range))) / Number(range.initialRate)
        const difference = Math.abs((await rateOf(range, from)) - (await integrated(range, from)))
        expect(difference).toBeLessThanOrEqual(2e-5 * share)
      }),
      { numRuns: 40 },
    )
  })

  test('is the fair rate of a quote for the same range at the same time', async () => {
    const { breakdown } = await quoter.quote({})
    expect(await rateOf({})).toBe(breakdown.fairRate)
    // Bought at another rate, the same move pays another share of the notional.
    expect(await rateOf({ initialRate: '10000000' })).toBeCloseTo(Number(breakdown.fairValue) / 10, 14)
  })

  test('never exceeds its worst-case payout, and of an event about to expire is its payout at the spot', async () => {
    await fc.assert(
      fc.asyncProperty(ranges, async (range) => {
        const largest = Number(width(termsOf(range))) / Number(range.initialRate)
        const soon = { ...range, expiryUnixSeconds: asOf + 1 }
        const [value, last] = [await rateOf(range), await rateOf(soon)]
        for (const rate of [value, last]) {
          expect(rate).toBeGreaterThanOrEqual(0)
          expect(rate).toBeLessThanOrEqual(largest)
        }
        const now = Number(payoff(termsOf(range), 11_400_000n, NOTIONAL)) / 1e24
        if (Math.abs(Number(range.strike) - 11_400_000) > 50_000) expect(Math.abs(last - now)).toBeLessThan(1e-4)
      }),
    )
  })

  test('shows the rate it was valued at and how old or invented the rates are', async () => {
    const of = (pair: string, at: number) => ({
      ...{ ...cedi, pair, strike: `${at}000000`, payoutCap: `${at + 1}000000`, initialRate: `${at}000000` },
    })
    const [desk, old, invented] = await valuesOf([cedi, of('GBP/USD', 1), of('USD/KES', 130)])
    const fresh = { stale: false, synthetic: false, usdRateFallback: false }
    expect(desk).toMatchObject({ spotFixed6: '11400000', spotDate: '2026-11-20', ...fresh })
    expect(old).toMatchObject({ spotFixed6: '1270000', spotDate: '2024-11-20', ...fresh, stale: true })
    expect(invented).toMatchObject({ spotFixed6: '129000000', ...fresh, synthetic: true })
  })

  test('is absent, with the reason, for what the engine cannot price; other ranges of the request have theirs', async () => {
    const refused: readonly (readonly [string, Partial<Range>])[] = [
      ['expired', { expiryUnixSeconds: asOf }],
      ['unsupported_pair', { pair: 'USD/ZZZ' }],
      ['unsupported_pair', { pair: 'USD/VES' }],
      ['unsupported_terms', { payoutCap: '12000000' }],
      ['unsupported_terms', { strikeAbove: false }],
      ['unsupported_terms', { expiryUnixSeconds: asOf + 100 * 365 * DAY }],
    ]
    const values = await valuesOf([cedi, ...refused.map(([, range]) => ({ ...cedi, ...range }))])
    expect(values[0]).toHaveProperty('rate')
    expect(values.slice(1)).toEqual(refused.map(([reason]) => ({ reason })))
  })

  test('requests are bounded, and checked field by field', () => {
    const paths = (body: object) => ValuesRequest.safeParse(body).error?.issues.map(({ path }) => path.join('.')) ?? []
    expect(paths({ ranges: Array.from({ length: MAX_RANGES }, () => cedi) })).toEqual([])
    expect(paths({ ranges: Array.from({ length: MAX_RANGES + 1 }, () => cedi) })).toEqual(['ranges'])
    expect(paths({ ranges: [] })).toEqual(['ranges'])
    for (const [field, value] of [
      ['pair', 'usd/ghs'],
      ['strike', '0'],
      ['strike', 12],
      ['payoutCap', '-1'],
      ['initialRate', '1'.repeat(16)],
      ['expiryUnixSeconds', 1.5],
    ] as const)
      expect(paths({ ranges: [cedi, { ...cedi, [field]: value }] })).toEqual([`ranges.1.${field}`])
  })
})

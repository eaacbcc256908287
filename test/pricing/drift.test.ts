import { describe, expect, it } from 'vitest'
import { currenciesWithout, empiricalDrift, parityDrift } from '../../src/pricing/drift.ts'
import { readLocalRates } from '../../src/pricing/market/local-rates.ts'
import type { History } from '../../src/pricing/market/market.ts'

const pair = { base: 'USD', quote: 'GHS' }
/** A history of two closes, a year of 365 days apart. */
const yearly = (first: number, close: number): History => {
  const last = { date: '2026-11-20', close }
  const spot = { ...last, source: 'desk', synthetic: false }
  return { pair, source: 'desk', synthetic: false, closes: [{ date: '2025-11-20', close: first }, last], last, spot }
}
const rates = { asOf: '2026-11-01', source: 'desk', rates: { USD: 0.01, GHS: 0.25, KES: 0.1 } }

describe('the drift of a history', () => {
  it.each([
    ['rises by 20 %', Math.exp(0.2), 0.2, ''],
    ['falls by 20 %', Math.exp(-0.2), -0.2, ''],
    ['rises beyond the cap', Math.exp(0.7), 0.5, ', capped at 50 % a year'],
    ['falls beyond the cap', Math.exp(-0.7), -0.5, ', capped at 50 % a year'],
  ])('a rate that %s in a year has this drift', (_, close, mu, capped) => {
    const drift = empiricalDrift(yearly(1, close), 0.04)
    expect(drift.mu).toBeCloseTo(mu, 12)
    expect(drift.qEffective).toBeCloseTo(0.04 - mu, 12)
    expect(drift).toMatchObject({ q: null, localRates: null })
    if (capped !== '') expect(drift.note).toBe(`drift of the closes from 2025-11-20 to 2026-11-20${capped}`)
  })

  it('a drift within the cap has no note of the cap', () => {
    expect(empiricalDrift(yearly(1, 1), 0.04)).toMatchObject({
      mu: 0,
      note: 'drift of the closes from 2025-11-20 to 2026-11-20',
    })
  })

  const pegs = { asOf: '2026-11-01', source: 'desk', rates: { USD: 0.01, EUR: 0.03, SGD: 0.02 } }
  it.each([
    ['USD', 'AED', 0],
    ['AED', 'EUR', 0.03 - 0.04],
    ['EUR', 'XOF', 0],
    ['SGD', 'BND', 0],
  ])('a pegged currency of %s/%s without a rate has that of its anchor', (base, quote, mu) => {
    const drift = parityDrift({ base, quote }, 0.04, pegs)
    expect(drift).toMatchObject({ mu: expect.closeTo(mu, 15), localRates: { asOf: '2026-11-01' }, missingRate: null })
  })

  it('a pegged currency with a rate has its own', () => {
    const table = { ...pegs, rates: { ...pegs.rates, AED: 0.05 } }
    expect(parityDrift({ base: 'USD', quote: 'AED' }, 0.04, table).mu).toBeCloseTo(0.01, 15)
  })

  it('the bundled table has a rate for every currency of a tier that follows interest rates', async () => {
    expect(currenciesWithout(await readLocalRates())).toEqual([])
    const { rates, ...table } = await readLocalRates()
    const { COP, ...others } = rates
    expect(COP).toBe(0.0975)
    expect(currenciesWithout({ ...table, rates: { ...others, USD: rates.USD } })).toEqual(['COP'])
  })
})

describe('the drift of interest parity', () => {
  it.each([
    ['USD', 'GHS', 0.21, 0.25],
    ['GHS', 'USD', -0.21, 0.25],
    ['GHS', 'KES', -0.15, 0.25],
  ])(
    'the drift of %s/%s is the rate of QUOTE less the rate of BASE, with the given rate of the dollar',
    (base, quote, mu, q) => {
      const drift = parityDrift({ base, quote }, 0.04, rates)
      expect(drift.mu).toBeCloseTo(mu, 12)
      expect(drift.qEffective).toBeCloseTo(0.04 - mu, 12)
      expect(drift).toMatchObject({ q, localRates: { asOf: '2026-11-01' }, missingRate: null })
    },
  )

  it.each([
    ['TRY', 'USD', 'TRY'],
    ['USD', 'TRY', 'TRY'],
    ['TRY', 'XXX', 'TRY'],
  ])('%s/%s without an interest rate has no drift and names %s', (base, quote, missingRate) => {
    expect(parityDrift({ base, quote }, 0.04, rates)).toEqual({
      ...{ mu: 0, q: 0.04, qEffective: 0.04, localRates: null, missingRate },
      note: `no interest rate of ${missingRate} is configured, so drift is 0`,
    })
  })
})

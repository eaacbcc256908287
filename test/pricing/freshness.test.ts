import { describe, expect, it } from 'vitest'
import type { Drift } from '../../src/pricing/drift.ts'
import { driftFault, isStale, localRatesFault, usdRateFault } from '../../src/pricing/freshness.ts'
import type { History } from '../../src/pricing/market/market.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const now = Date.UTC(2026, 10, 20, 12)
const daysAgo = (days: number): string => new Date(now - days * DAY_MS).toISOString().slice(0, 10)

const historyUntil = (date: string): History => {
  const last = { date, close: 11.4 }
  const spot = { ...last, source: 'desk', synthetic: false }
  return { pair: { base: 'USD', quote: 'GHS' }, source: 'desk', synthetic: false, closes: [last], last, spot }
}
const usd = { rate: 0.04, recordDate: daysAgo(1), fetchedAt: now, fallback: false }
const drift: Drift = { mu: 0, q: null, qEffective: 0, localRates: null, missingRate: null, note: '' }

describe('the age of rates', () => {
  it.each([
    [7, false],
    [8, true],
  ])('a history that ended %i days ago is stale: %s', (days, stale) => {
    expect(isStale(historyUntil(daysAgo(days)), now, 7)).toBe(stale)
  })

  it.each([
    ['fresh', {}, null],
    ['a fallback', { fallback: true }, 'configured fallback'],
    ['recorded 7 days ago', { recordDate: daysAgo(7) }, null],
    ['recorded 8 days ago', { recordDate: daysAgo(8) }, 'more than 7 days ago'],
    ['fetched 12 h ago', { fetchedAt: now - 12 * HOUR_MS }, null],
    ['fetched 13.5 h ago', { fetchedAt: now - 13.5 * HOUR_MS }, 'last fetched 13 h ago'],
    ['fetched 12 h and 1 ms ago', { fetchedAt: now - 12 * HOUR_MS - 1 }, 'last fetched 12 h ago'],
    ['recorded tomorrow, as in some places it is', { recordDate: daysAgo(-1) }, null],
    ['recorded two days ahead', { recordDate: daysAgo(-2) }, 'a day that is still to come'],
    ['fetched a day ahead', { fetchedAt: now + DAY_MS }, null],
    ['fetched more than a day ahead', { fetchedAt: now + DAY_MS + 1 }, 'fetched on 2026-11-21, a day that is still'],
  ])('a dollar rate that is %s', (_, changes, fault) => {
    const found = usdRateFault({ ...usd, ...changes }, now, 7)
    if (fault === null) expect(found).toBeNull()
    else expect(found).toContain(fault)
  })

  it.each([
    [92, null],
    [93, expect.stringContaining('more than 92 days ago')],
    // In some places the next day has begun.
    [-1, null],
    [-2, expect.stringContaining('a day that is still to come')],
  ])('interest rates of %i days ago', (days, fault) => {
    expect(localRatesFault({ asOf: daysAgo(days) }, now)).toEqual(fault)
    expect(driftFault({ ...drift, localRates: { asOf: daysAgo(days) } }, now)).toEqual(fault)
  })

  it('a drift without interest rates needs none', () => {
    expect(driftFault(drift, now)).toBeNull()
  })
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { unavailable } from '../../src/lib/errors.ts'
import { MAX_RANGES, type ValuesRequest } from '../../src/pricing/messages.ts'
import { worstCasePayout } from '../../src/protocol/payoff.ts'
import type { Row } from '../../src/reads/lists/records.ts'
import { PositionRow } from '../../src/reads/lists/records.ts'
import { withValues } from '../../src/reads/lists/values.ts'
import { openQuoter, quotingTime } from '../support/quoter.ts'

/* Rows of positions with the values of the engine. The rows have the terms of their events, as rows of a page do. */

const { values } = await openQuoter()

const cedi = {
  ...{ pair: 'USD/GHS', strike: '12000000', payoutCap: '13500000', initialRate: '11400000', strikeAbove: true },
  expiryUnixSeconds: quotingTime / 1000 + 90 * 86_400,
}

type Own = { readonly notional?: string; readonly status?: number; readonly state?: string; readonly range?: object }

const rowOf = ({ notional = '10000000000', status = 0, state = 'open', range = {} }: Own): Row =>
  ({ notional, status, value: { state, range: { ...cedi, ...range } } }) as unknown as Row

const Shown = PositionRow.pick({ value: true, valueReason: true })

/** The values of rows and their reasons, and the ranges of each request that the engine received. */
const valued = async (rows: readonly Own[], answer: typeof values = values, allowsStale = false) => {
  const asked: ValuesRequest['ranges'][] = []
  const pricing = {
    values: (request: ValuesRequest) => {
      asked.push(request.ranges)
      return answer(request)
    },
  }
  const shown = await withValues(pricing, rows.map(rowOf), allowsStale)
  return { asked, shown: z.array(Shown).parse(shown) }
}

const reasonsOf = async (rows: readonly Own[], answer?: typeof values) => {
  const { shown, asked } = await valued(rows, answer)
  for (const { value, valueReason } of shown) expect(value === null).toBe(valueReason !== null)
  return { reasons: shown.map(({ valueReason }) => valueReason), requests: asked.length }
}

test('the value of a position is its notional times the value of its range, in units, rounded down', async () => {
  const { shown } = await valued([{}, { notional: `1${'0'.repeat(22)}` }, { notional: '1' }])
  expect(shown.map(({ value }) => value?.amount.slice(0, 9))).toEqual(['273219585', '273219585', '0'])
  expect(shown[1]?.value?.amount).toHaveLength(21)
  expect(shown[0]?.value).toEqual({
    ...{ amount: '273219585', asOf: quotingTime / 1000, spot: '11400000', spotDate: '2026-11-20' },
    ...{ stale: false, synthetic: false, usdRateFallback: false },
  })
})

test('events are valued in one request, equal terms once', async () => {
  const ranges = [{}, { strike: '12100000' }, {}, { pair: 'USD/NGN' }, { strike: '12100000' }]
  const { asked, shown } = await valued(ranges.map((range) => ({ range })))
  expect(asked.map((it) => it.map(({ pair, strike }) => [pair, strike]))).toEqual([
    [
      ['USD/GHS', '12000000'],
      ['USD/GHS', '12100000'],
      ['USD/NGN', '12000000'],
    ],
  ])
  expect(shown[2]).toEqual(shown[0])
  expect(shown[4]).toEqual(shown[1])
  expect(shown[1]?.value?.amount).not.toBe(shown[0]?.value?.amount)
})

test('a value never exceeds the worst-case payout of the position, whatever the engine returns', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt({ min: 0n, max: 10n ** 30n }),
      fc.double({ min: 0, max: 1e15, noNaN: true }),
      fc.boolean(),
      async (notional, rate, isSingle) => {
        const payoutCap = isSingle ? '0' : cedi.payoutCap
        const flags = { spotFixed6: '1', spotDate: '', stale: false, synthetic: false, usdRateFallback: false }
        const { shown } = await valued([{ notional: String(notional), range: { payoutCap } }], async () => ({
          asOf: 1,
          values: [{ rate, ...flags }],
        }))
        const range = { strike: 12_000_000n, payoutCap: BigInt(payoutCap), initialRate: 11_400_000n, strikeAbove: true }
        const most = worstCasePayout(range, notional)
        const amount = BigInt(shown[0]?.value?.amount ?? -1)
        expect(amount).toBeGreaterThanOrEqual(0n)
        expect(amount).toBeLessThanOrEqual(most)
        if (rate > 1) expect(amount).toBe(most)
      },
    ),
  )
})

test('rows without a value have the reason, and the engine is not asked about them', async () => {
  const rows: readonly Own[] = [
    { state: 'expired' },
    { state: 'settled' },
    { state: 'triggered' },
    { status: 4 },
    { range: { pair: 'CEDI' } },
    { range: { strike: '0' } },
    { range: { strike: '1'.repeat(78) } },
  ]
  const { reasons, requests } = await reasonsOf(rows)
  expect(reasons).toEqual([
    ...['expired', 'settled', 'settled', 'settled', 'unsupported_pair', 'unsupported_terms', 'unsupported_terms'],
  ])
  expect(requests).toBe(0)
})

test('the engine’s reasons are passed on, also of an event that expired by its clock only', async () => {
  const ranges = [{ pair: 'USD/ZZZ' }, { expiryUnixSeconds: 1 }, { payoutCap: '11000000' }, {}]
  const { reasons } = await reasonsOf(ranges.map((range) => ({ range })))
  expect(reasons).toEqual(['unsupported_pair', 'expired', 'unsupported_terms', null])
})

test('a value from stale rates is null with the reason, and shown where stale values are allowed', async () => {
  const rates = { rate: 0.006, spotFixed6: '11400000', spotDate: '2024-11-29' }
  const flags = { synthetic: false, usdRateFallback: false }
  const twoEvents = async () => ({
    asOf: 1,
    values: [true, false].map((stale) => ({ ...rates, ...flags, stale })),
  })
  const rows = [{}, { range: { strike: '12100000' } }]
  const fresh = { value: { amount: '60000000', stale: false }, valueReason: null }
  const { shown } = await valued(rows, twoEvents)
  expect(shown).toMatchObject([{ value: null, valueReason: 'stale_rates' }, fresh])
  const { shown: allowed } = await valued(rows, twoEvents, true)
  expect(allowed).toMatchObject([{ value: { amount: '60000000', stale: true }, valueReason: null }, fresh])
})

test('an engine that fails or returns too few values leaves out the values, and other faults are not hidden', async () => {
  const down = async () => {
    throw unavailable('the pricing engine cannot be reached')
  }
  expect((await reasonsOf([{}, { state: 'expired' }], down)).reasons).toEqual(['engine_unavailable', 'expired'])
  const short = async () => ({ asOf: 1, values: [] })
  expect((await reasonsOf([{}], short)).reasons).toEqual(['engine_unavailable'])
  const broken = async () => {
    throw new TypeError('a defect')
  }
  await expect(valued([{}], broken)).rejects.toThrow('a defect')
})

test('only as many events are valued as one request holds, in the order of the rows', async () => {
  const rows = Array.from({ length: MAX_RANGES + 5 }, (_, nth) => ({ range: { strike: String(12_000_000 + nth) } }))
  const { reasons, requests } = await reasonsOf([...rows, rows[0] ?? {}])
  expect(requests).toBe(1)
  expect(reasons.map((reason, at) => [at, reason]).filter(([, reason]) => reason !== null)).toEqual(
    [200, 201, 202, 203, 204].map((at) => [at, 'too_many_events']),
  )
})

test('a row that a reorg has removed stays null, and the fields of the others stay as they are', async () => {
  const [first, last] = [
    { ...rowOf({}), id: 1 },
    { ...rowOf({ state: 'expired' }), id: 2 },
  ]
  const rows = await withValues({ values }, [first, null, last], false)
  expect(rows).toEqual([
    { ...first, value: expect.objectContaining({ amount: '273219585' }), valueReason: null },
    null,
    { ...last, value: null, valueReason: 'expired' },
  ])
  expect(await withValues({ values: () => expect.unreachable() }, [null], false)).toEqual([null])
})

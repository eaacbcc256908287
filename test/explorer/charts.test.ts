import fc from 'fast-check'
import { costOf, greatestPayout, payoutAt } from 'fx-protection-client'
import { expect, test } from 'vitest'
import { byToken } from '../../explorer/src/charts/by-token.ts'
import { payoffOf } from '../../explorer/src/charts/payoff.ts'
import { atLeast, scaleOf, ticksOf } from '../../explorer/src/charts/scale.ts'

const fees = { hedgerFeeRate: 5_000n, payoutFeeRate: 5_000n }

const events = fc
  .record({
    strike: fc.bigInt(1_000n, 10n ** 12n),
    width: fc.bigInt(1n, 900n),
    isCapped: fc.boolean(),
    strikeAbove: fc.boolean(),
    premiumRate: fc.bigInt(1n, 500_000n),
  })
  .map(({ strike, width, isCapped, strikeAbove, premiumRate }) => {
    const move = (strike * width) / 1_000n
    const payoutCap = isCapped ? (strikeAbove ? strike + move : strike - move) : 0n
    const initialRate = strikeAbove ? strike - move : strike + move
    return { strike, payoutCap, initialRate, strikeAbove, premiumRate }
  })

test('the line of payouts between its corners is that of the protocol, and has its greatest payout', () => {
  fc.assert(
    fc.property(
      events,
      fc.bigInt(1n, 10n ** 15n),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (event, notional, share) => {
        const { points, most } = payoffOf(event, notional, costOf(event, notional, fees), fees)
        expect(most).toBe(greatestPayout(event, notional))
        for (const [index, from] of points.slice(0, -1).entries()) {
          const to = points[index + 1] ?? from
          expect(to.rate).toBeGreaterThan(from.rate)
          expect(from.payout).toBe(payoutAt(event, notional, from.rate))
          const rate = from.rate + BigInt(Math.floor(Number(to.rate - from.rate) * share))
          const onLine = from.payout + ((to.payout - from.payout) * (rate - from.rate)) / (to.rate - from.rate)
          const difference = payoutAt(event, notional, rate) - onLine
          expect(difference >= -1n && difference <= 1n).toBe(true)
        }
      },
    ),
  )
})

test('the break-even of the chart is the first rate that pays what was paid', () => {
  const event = { strike: 12_000000n, payoutCap: 13_500000n, initialRate: 11_400000n, strikeAbove: true }
  const notional = 10_000_000000n
  const paid = costOf({ premiumRate: 23_000n }, notional, fees)
  const { breakEven, cost } = payoffOf(event, notional, paid, fees)
  expect(cost).toBe(231_150000n)
  const net = (rate: bigint): bigint => (payoutAt(event, notional, rate) * 995_000n) / 1_000_000n
  expect(net(breakEven ?? 0n)).toBeGreaterThanOrEqual(paid.total)
  expect(net((breakEven ?? 0n) - 1n)).toBeLessThan(paid.total)
})

test('the line of payouts without a purchase has no cost and no break-even', () => {
  const event = { strike: 12_000000n, payoutCap: 13_500000n, initialRate: 11_400000n, strikeAbove: true }
  const { breakEven, cost, most } = payoffOf(event, 10_000_000000n)
  expect({ breakEven, cost, most }).toEqual({ breakEven: null, cost: null, most: 1_315_789473n })
})

test('ticks are round and within their range', () => {
  expect(ticksOf([0, 1_100], 4)).toEqual([0, 500, 1_000])
  expect(ticksOf([0, 0.9], 4)).toEqual([0, 0.5])
  expect(ticksOf([0, 700], 4)).toEqual([0, 200, 400, 600])
  expect(ticksOf([5, 5], 4)).toEqual([5])
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1e12, noNaN: true }),
      fc.double({ min: 1e-6, max: 1e12, noNaN: true }),
      (from, size) => {
        const ticks = ticksOf([from, from + size], 5)
        expect(ticks.length).toBeLessThan(13)
      },
    ),
  )
})

test('a scale is a straight line, and its middle for a range without a width', () => {
  expect([0, 5, 10].map(scaleOf([0, 10], [100, 0]))).toEqual([100, 50, 0])
  expect(scaleOf([3, 3], [0, 10])(3)).toBe(5)
})

test('points are grouped by chain and token', () => {
  const point = (chainId: number, token: string, time: number) => ({ chainId, token, time })
  const points = [point(1, 'a', 1), point(1, 'b', 1), point(2, 'a', 1), point(1, 'a', 2)]
  expect(byToken(points)).toEqual([[points[0], points[3]], [points[1]], [points[2]]])
})

test('an axis has a least length, around points that are close together', () => {
  expect(atLeast([100, 100], 60)).toEqual([70, 130])
  expect(atLeast([100, 140], 60)).toEqual([90, 150])
  expect(atLeast([100, 200], 60)).toEqual([100, 200])
})

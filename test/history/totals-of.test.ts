import { describe, expect, test } from 'vitest'
import type { DaySum } from '../../src/db/queries/totals.ts'
import { protocolSeries, totalsOf } from '../../src/reads/series/protocol.ts'
import type { SeriesSources } from '../../src/reads/series/series.ts'
import { blockOf } from '../support/seed-index.ts'

const DAY = 86_400n
const [one, two] = ['0x0000000000000000000000000000000000000001', '0x0000000000000000000000000000000000000002'] as const

const deposited = (day: number, token: DaySum['token'], amount: bigint): DaySum => ({
  ...{ day, token, type: 'deposit.created', rows: 1n, amount, fee: 0n, notional: 0n },
})

const totals = (days: readonly DaySum[], times: readonly bigint[]) =>
  [...totalsOf(8453, days, times)].map(({ token, points }) => [
    token,
    Array.from(points, ({ time, of }) => [time, of('deposit.created').amount]),
  ])

test('totals are those of each token, by address, and carry over to days without a log', () => {
  const days = [deposited(1, two, 5n), deposited(1, one, 7n), deposited(3, two, 10n)]
  const times = [1n, 2n, 3n].map((day) => (day + 1n) * DAY - 1n)
  const pointsOf = (...amounts: readonly bigint[]) => times.map((time, at) => [time, amounts[at]])
  expect(totals(days, times)).toEqual([
    [one, pointsOf(7n, 7n, 7n)],
    [two, pointsOf(5n, 5n, 15n)],
  ])
})

test('totals of a token that is not known are refused', () => {
  expect(() => totals([deposited(1, null, 5n)], [DAY])).toThrow('an event of chain 8453 is not read yet')
})

describe('the series of several chains', () => {
  /** Chains whose newest blocks have these times, with a deposit on the first day. */
  const read = (times: Readonly<Record<number, bigint>>, from?: bigint) => {
    const tip = (chainId: number) => ({ ...blockOf(9n), timestamp: times[chainId] ?? 0n })
    const sources = {
      chains: new Map(),
      queries: { reached: async (chainId: number) => ({ chainId, block: tip(chainId), heartbeat: null }) },
      lists: {
        totals: { daysUpTo: async () => [deposited(1, one, 7n)] },
        token: () => ({ token: one, symbol: 'USDC', decimals: 6 }),
      },
    } as unknown as SeriesSources
    const query = {
      interval: 'day',
      metric: ['deposited'],
      ...(from !== undefined && { from: { seconds: from } }),
    } as const
    return protocolSeries(sources, {}, query)
  }

  test('begins with the first log of any, and ends with the newest block of each', async () => {
    const { rows, meta } = await read({ 8453: 2n * DAY + 9n, 56: 2n * DAY + 5n })
    expect(rows.map(({ chainId, time }) => [chainId, time])).toEqual(
      [8453, 56].flatMap((id) => [
        [id, 2 * 86_400 - 1],
        [id, 2 * 86_400 + (id === 56 ? 5 : 9)],
      ]),
    )
    expect([meta.from, meta.to.map(({ chainId }) => chainId)]).toEqual([86_400, [8453, 56]])
  })

  test('may begin after the end of one that is behind, and not after the end of all', async () => {
    const times = { 8453: 2n * DAY + 9n, 56: 2n * DAY + 5n }
    const { rows, meta } = await read(times, 2n * DAY + 7n)
    expect([rows.map(({ chainId }) => chainId), meta.from]).toEqual([[8453], 2 * 86_400 + 7])
    expect(
      (await read({ 8453: times[56], 56: times[8453] }, 2n * DAY + 7n)).rows.map(({ chainId }) => chainId),
    ).toEqual([56])
    await expect(read(times, 2n * DAY + 10n)).rejects.toMatchObject({ code: 'validation_error' })
  })
})

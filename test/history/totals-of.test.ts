import { expect, test } from 'vitest'
import type { DaySum } from '../../src/db/queries/totals.ts'
import { totalsOf } from '../../src/reads/series/protocol.ts'

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

import { expect, test } from 'vitest'
import { z } from 'zod'
import { tableOf } from '../../src/api/csv/columns.ts'
import { Amount, Integer, Rate, UnixSeconds } from '../../src/protocol/fields/response-fields.ts'
import { depositInclusions, positionInclusions, shownFields } from '../../src/protocol/rows.ts'
import { listings } from '../../src/reads/lists/listings.ts'
import { csvRows, parseCsv } from '../support/csv.ts'

const Record = z.object({ strike: Rate, settledAt: UnixSeconds.meta({ description: '0 until settled' }) })
const row = z.object({
  id: Integer,
  amount: Amount.nullable().meta({ description: 'What' }),
  net: Amount.meta({ description: 'Which' }),
  decimals: z.int().nullable(),
  args: z.record(z.string(), z.unknown()),
  event: Record.nullable().optional(),
  stats: Record.optional(),
})

const names = 'id,amount,amountUnits,net,netUnits,decimals,args'

test('each field is a column, and a record has columns only when it is shown', () => {
  expect(tableOf('a', row).header).toBe(`${names},nextCursor\r\n`)
  const ofEvent = 'event.strike,event.strikeDecimal,event.settledAt,event.settledAtIso'
  expect(tableOf('a', row, ['event']).header).toBe(`${names},${ofEvent},nextCursor\r\n`)
})

test('next to integers with a scale is their exact value, and nothing where there is none', () => {
  const { header, lines } = tableOf('a', row, ['event'])
  const event = { strike: '12500000', settledAt: 1_790_856_000 }
  const most = String(2n ** 256n - 1n)
  const given = [
    { id: 1, amount: '1500000', net: '1', decimals: 6, args: { a: '=1', b: [1] }, event },
    { id: 2, amount: null, net: most, decimals: 18, args: {}, event: { strike: '0', settledAt: 0 } },
    { id: 3, amount: '7', net: '0', decimals: null, args: {}, event: { strike: '1', settledAt: 2 ** 53 - 1 } },
    { id: 4, amount: '7', net: '10', decimals: 0, args: {}, event: null },
  ]
  const cells = csvRows(header + lines(given, null))
  const pick = (name: string) => cells.map((cell) => cell[name])
  expect(pick('amount')).toEqual(['1500000', '', '7', '7'])
  expect(pick('amountUnits')).toEqual(['1.5', '', '', '7'])
  expect(pick('netUnits')).toEqual(['0.000001', `${most.slice(0, -18)}.${most.slice(-18)}`, '', '10'])
  expect(pick('event.strikeDecimal')).toEqual(['12.5', '0', '0.000001', ''])
  expect(pick('event.settledAt')).toEqual(['1790856000', '0', '9007199254740991', ''])
  expect(pick('event.settledAtIso')).toEqual(['2026-10-01T12:00:00Z', '', '', ''])
  expect(pick('args')).toEqual(['{"a":"=1","b":[1]}', '{}', '{}', '{}'])
})

test('the cursor is in the last row only', () => {
  const { lines } = tableOf('a', z.object({ id: Integer }))
  expect(lines([{ id: 1 }, { id: 2 }], 'next')).toBe('1,\r\n2,next\r\n')
  expect(lines([{ id: 1 }], null)).toBe('1,\r\n')
  expect(lines([], 'next')).toBe('')
})

test.each(listings.map(({ path, row }) => [path, row] as const))('%s has a column for every field', (_, row) => {
  const [columns = []] = parseCsv(tableOf('a', row, shownFields([...positionInclusions, ...depositInclusions])).header)
  expect(new Set(columns).size).toBe(columns.length)
  const lacking = Object.keys(row.shape).filter(
    (field) => !columns.some((name) => name === field || name.startsWith(`${field}.`)),
  )
  expect(lacking).toEqual([])
  expect(columns).toEqual(expect.arrayContaining(['stats.totalLiquidityUnits', 'utilization.utilizationRateDecimal']))
})

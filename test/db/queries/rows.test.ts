import { expect, test } from 'vitest'
import { hasRecords, hasSummary, RECORD, readTexts } from '../../../src/db/queries/rows.ts'
import { UNIT } from '../../../src/db/rendering.ts'
import type { Inclusion } from '../../../src/protocol/rows.ts'

const withText = `8453,1${UNIT}{"id":1}`
const withoutText = `8453,2${UNIT}`

test.each([
  ['no rows', [[null, '']], [false]],
  ['rows with texts', [[null, [withText, withText].join(RECORD)]], [false]],
  ['a last row without a text', [[null, [withText, withoutText].join(RECORD)]], [false, true]],
  ['another row without a text', [[null, [withoutText, withText].join(RECORD)]], [false, true]],
  ['a row without a text in a later line', [[withText], [withoutText], [withText]], [false, true]],
] as const)('%s are read with their columns only if a text is missing', async (_, rows, read) => {
  const asked: boolean[] = []
  const database = {
    rows: async ({ text }: { readonly text: string }) => [[text], ...rows.map((row) => [...row])],
  }
  const found = await readTexts(database, (columns) => {
    asked.push(columns)
    return { text: `columns: ${columns}`, values: [] }
  })
  expect(asked).toEqual(read)
  expect(found[0]).toEqual([`columns: ${read.at(-1)}`])
})

test.each([
  [[], false, false],
  [['payout'], false, false],
  [['range'], true, false],
  [['event'], false, true],
  [['value'], false, true],
  [['stale-value', 'stats'], true, true],
] as readonly (readonly [Inclusion[], boolean, boolean])[])(
  'rows with %j have records of the event: %s, and its own text: %s',
  (include, records, summary) => {
    expect([hasRecords(include), hasSummary(include)]).toEqual([records, summary])
  },
)

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CRLF, csvLine } from '../../src/api/csv/lines.ts'
import { parseCsv } from '../support/csv.ts'

test.each([
  ['numbers and booleans', [0, -5, 1.5, true, false], '0,-5,1.5,true,false'],
  ['nothing', [null, undefined, ''], ',,'],
  ['a quote, a comma and the ends of lines', ['a"b', 'a,b', 'a\nb', 'a\rb'], '"a""b","a,b","a\nb","a\rb"'],
  ['a plain text', ['USD/GHS 2026', 'é ∑', '0xab'], 'USD/GHS 2026,é ∑,0xab'],
] as const)('%s are fields', (_, cells, line) => {
  expect(csvLine(cells)).toBe(line)
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', ' =1', '＝1', '＋1', '－1', '＠a', "'=1"])(
  'the text %j cannot become a formula',
  (text) => {
    expect(csvLine([text]).replaceAll('"', '')).toBe(`'${text}`)
  },
)

/** Texts of characters that mean something in CSV or in a spreadsheet. */
const hostile = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'",\r\n\t =+-@\'a1;|é＝'), maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)

test('random texts are read back as they were, and none begins as a formula', () => {
  fc.assert(
    fc.property(fc.array(fc.array(hostile, { minLength: 2, maxLength: 5 }), { minLength: 1 }), (rows) => {
      const fields = parseCsv(rows.map((cells) => csvLine(cells) + CRLF).join(''))
      expect(fields.flat().filter((field) => /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(field))).toEqual([])
      expect(fields.map((row) => row.map((field) => field.replace(/^'/, '')))).toEqual(rows)
    }),
    { seed: 20_260_930, numRuns: 2_000 },
  )
})

import { expect, test } from 'vitest'
import { expected, type Unit } from '../../src/protocol/fields/units.ts'

const cases: readonly (readonly [Unit, unknown, boolean, string])[] = [
  ['rate', 11.4, true, 'expected a rate times 1e6, an integer in quotes: 11.4 is "11400000"'],
  ['rate', '11.4', false, 'expected a rate times 1e6, an integer: 11.4 is 11400000'],
  ['rate', 12, true, 'expected a rate times 1e6, an integer in quotes: 12 is "12000000"'],
  ['rate', '0.000001', false, 'expected a rate times 1e6, an integer: 0.000001 is 1'],
  ['rate', '999999.5', false, 'expected a rate times 1e6, an integer: 999999.5 is 999999500000'],
  ['rate', 1234567, true, 'expected a rate times 1e6, an integer in quotes: "1234567"'],
  ['rate', '1.2345678', true, 'expected a rate times 1e6, an integer in quotes: 11.4 is "11400000"'],
  ['rate', '-1', true, 'expected a rate times 1e6, an integer in quotes: 11.4 is "11400000"'],
  ['rate', undefined, false, 'expected a rate times 1e6, an integer: 11.4 is 11400000'],
  ['amount', 5, true, `expected an amount in the token's smallest units, an integer in quotes: "5"`],
  ['amount', 0, true, `expected an amount in the token's smallest units, an integer in quotes: "0"`],
  [
    ...(['amount', 1.5, true] as const),
    `expected an amount in the token's smallest units, an integer in quotes: 1.5 of a token with 6 decimals is "1500000"`,
  ],
  [
    ...(['amount', -5, false] as const),
    `expected an amount in the token's smallest units, an integer: 1.5 of a token with 6 decimals is 1500000`,
  ],
  [
    ...(['amount', 2 ** 53, false] as const),
    `expected an amount in the token's smallest units, an integer: 1.5 of a token with 6 decimals is 1500000`,
  ],
  ['number', 'x', true, 'expected a non-negative integer in quotes'],
  ['number', 7, true, 'expected a non-negative integer in quotes: "7"'],
  ['seconds', '2027-05-20', false, 'expected Unix seconds, an integer: 2027-05-20 is 1810771200'],
  [
    'seconds',
    '2027-05-20T12:00:00Z',
    true,
    'expected Unix seconds, an integer in quotes: 2027-05-20T12:00:00Z is "1810814400"',
  ],
  [
    'seconds',
    '2027-05-20T12:00:00.9Z',
    false,
    'expected Unix seconds, an integer: 2027-05-20T12:00:00.9Z is 1810814400',
  ],
  [
    'seconds',
    '2027-05-20T12:00:00+02:00',
    false,
    'expected Unix seconds, an integer: 2027-05-20T12:00:00+02:00 is 1810807200',
  ],
]

/** Texts that are no time of their own: a day that does not exist, a time without a zone, and times before 1970. */
const noTimes = ['2027-02-30', '2027-05-20T12:00:00', '1969-12-31', '1970-01-01', '2027-13-01', 'tomorrow', '']

test.each(cases)('the %s %j (in quotes: %s) has the error "%s"', (unit, value, isText, error) => {
  expect(expected(unit, value, isText)).toBe(error)
})

test.each(noTimes)('the text %j is not repeated as a time', (text) => {
  expect(expected('seconds', text, false)).toBe('expected Unix seconds, an integer: 2027-01-01T00:00:00Z is 1798761600')
})

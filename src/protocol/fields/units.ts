/*
 * What errors say about a number in a request: its unit, and an example. Where the value is a number in another unit, the
 * example is that value.
 */

/** A rate with scale 1e6, an amount in units of its token, a time in Unix seconds, or another number. */
export type Unit = 'rate' | 'amount' | 'seconds' | 'number'

const names: Readonly<Record<Unit, string>> = {
  rate: 'a rate times 1e6, an integer',
  amount: "an amount in the token's smallest units, an integer",
  seconds: 'Unix seconds, an integer',
  number: 'a non-negative integer',
}

/** A number as people write it, short enough to repeat. Greater ones are scaled already. */
const PLAIN = /^\d{1,6}(?:\.\d{1,6})?$/
const TIME = /^\d{4}-\d\d-\d\d(?:T[\d:.]{5,12}(?:Z|[+-]\d\d:\d\d)?)?$/

/** Whether a text is a day that exists, or a time of a zone, after 1970: other times have no example of their own. */
const isTime = (text: string): boolean => {
  const at = TIME.test(text) && (text.length === 10 || /Z|[+-]\d\d:\d\d$/.test(text)) ? Date.parse(text) : Number.NaN
  return at > 0 && (text.length > 10 || new Date(at).toISOString().startsWith(text))
}

/** The decimals of a rate. */
const RATE_DECIMALS = 6

/** A plain number with scale 1e6. */
const scaled = (text: string): string => {
  const [whole = '', fraction = ''] = text.split('.')
  return String(BigInt(whole + fraction.padEnd(RATE_DECIMALS, '0')))
}

/** An example in words: `[11.4, '11400000']` for 11.4 is 11400000. */
const exampleOf = (unit: Unit, given: string): readonly [plain: string, sent: string] | null => {
  if (unit === 'number') return null
  if (unit === 'amount') return ['1.5 of a token with 6 decimals', '1500000']
  if (unit === 'rate') return PLAIN.test(given) ? [given, scaled(given)] : ['11.4', '11400000']
  const time = isTime(given) ? given : '2027-01-01T00:00:00Z'
  return [time, String(Math.floor(Date.parse(time) / 1_000))]
}

/**
 * What a value should have been. In a body (`isText`), numbers that may exceed a double are texts.
 *
 * @example expected('rate', 11.4, true) // 'expected a rate times 1e6, an integer in quotes: 11.4 is "11400000"'
 */
export const expected = (unit: Unit, value: unknown, isText: boolean): string => {
  const given = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  const quoted = (text: string): string => (isText ? `"${text}"` : text)
  const what = `expected ${names[unit]}${isText ? ' in quotes' : ''}`
  // A number that is long enough to be scaled already lacks only the quotes.
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && (unit !== 'rate' || !PLAIN.test(given)))
    return `${what}: ${quoted(given)}`
  const example = exampleOf(unit, given)
  return example === null ? what : `${what}: ${example[0]} is ${quoted(example[1])}`
}

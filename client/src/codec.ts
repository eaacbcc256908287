import { amountNames, opaqueNames } from './names.generated.ts'

const amounts = new Set(amountNames.split(' '))
const opaque = new Set(opaqueNames.split(' '))
const DIGITS = /^-?\d+$/

/** Replaces the decimal strings of a response by bigints, where its description declares them. */
export const decode = (value: unknown, name = ''): unknown => {
  if (typeof value === 'string') return amounts.has(name) && DIGITS.test(value) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null || opaque.has(name)) return value
  if (Array.isArray(value)) return value.map((each) => decode(each, name))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, decode(each, key)]))
}

/** The JSON text of a request. Amounts are sent as decimal strings. */
export const encode = (body: unknown): string =>
  JSON.stringify(body, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))

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

/**
 * Writes an amount with the decimals of its token, exactly and without trailing zeros.
 *
 * @example
 * formatAmount(1_500_000n, 6) // '1.5'
 */
export const formatAmount = (amount: bigint, decimals: number): string => {
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `${amount < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

/**
 * Reads an amount in whole tokens. Throws a RangeError for text that is not a decimal number or has more decimals than
 * the token.
 *
 * @example
 * parseAmount('1.5', 6) // 1_500_000n
 */
export const parseAmount = (text: string, decimals: number): bigint => {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === '') throw new RangeError(`not a decimal number: ${text}`)
  if (fraction.length > decimals) throw new RangeError(`more than ${decimals} decimals: ${text}`)
  return BigInt(`${sign}${whole}${fraction.padEnd(decimals, '0')}`)
}

import { z } from 'zod'

/*
 * What a variable may hold. Every refusal repeats the value, cut short, and says what is expected instead: none of these holds a secret.
 */

const MAX_SHOWN = 40

const shown = (text: string): string =>
  text.length > MAX_SHOWN ? `"${text.slice(0, MAX_SHOWN)}…"` : JSON.stringify(text)

const got = (expected: string, text: string): string => `expected ${expected}, got ${shown(text)}`

/** Digits alone: no sign, blank, exponent, fraction, prefix or leading zero, each of which `Number` takes for something. */
const DIGITS = /^(0|[1-9]\d{0,19})$/

const whole = (min: bigint, max: bigint) => {
  const expected = `a whole number from ${min} to ${max}`
  return z.string({ error: `expected ${expected}` }).transform((text, context) => {
    const value = DIGITS.test(text) ? BigInt(text) : null
    if (value !== null && value >= min && value <= max) return value
    context.addIssue({ code: 'custom', message: got(expected, text) })
    return z.NEVER
  })
}

/** A whole number in decimal digits, from `min` to `max`; `.env.example` states both, and a test compares them. */
export const integer = (min: number, max: number) => whole(BigInt(min), BigInt(max)).transform(Number)

/** A block number. */
export const blockNumber = whole(0n, 10n ** 18n)

/** A TCP port; 0 is any free one. */
export const port = integer(0, 65_535)

/** A port, or `off` for none. */
export const portOrOff = z.string().transform((text, context): number | 'off' => {
  if (text === 'off') return text
  const { success, data } = port.safeParse(text)
  if (success) return data
  context.addIssue({ code: 'custom', message: got('a whole number from 0 to 65535, or off', text) })
  return z.NEVER
})

/** One of some words. */
export const oneOf = <const Words extends readonly [string, string, ...string[]]>(words: Words) =>
  z.enum(words, {
    error: ({ input }) => {
      const expected = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
      return typeof input === 'string' ? got(expected, input) : `expected ${expected}`
    },
  })

export const trueOrFalse = oneOf(['true', 'false']).transform((word) => word === 'true')

/** A URL of some schemes; its value is not repeated, for it may hold a password. */
export const url = (schemes: RegExp, expected: string) =>
  z
    .string({ error: `expected ${expected}` })
    .refine((text) => !/\s/.test(text), { error: 'expected a URL without blanks', abort: true })
    .pipe(z.url({ protocol: schemes, error: `expected ${expected}` }))

/** A host name or address to listen on. */
export const host = z.string().refine((text) => /^\S+$/.test(text), {
  error: ({ input }) => got('a host without blanks', String(input)),
})

/** `name=value,…`, each name once. */
export const pairs = (example: string) =>
  z.string().transform((text, context): [string, string][] => {
    const entries = text.split(',').map((entry) => entry.split('=').map((part) => part.trim()))
    const found = entries.flatMap((parts): [string, string][] => {
      const [name, value] = parts
      return parts.length === 2 && name && value ? [[name, value]] : []
    })
    const twice = found.find(([name], at) => found.findIndex(([other]) => other === name) !== at)
    if (found.length === entries.length && twice === undefined) return found
    const message = twice === undefined ? got(example, text) : `${twice[0]} is given twice: remove one of them`
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

/** A positive decimal, such as `1.1`. */
const DECIMAL = /^(0|[1-9]\d{0,5})(\.\d{1,9})?$/

/** Factors by name: `name=1.1,…`, each from `min` to `max`, of the names given. */
export const factors = <const Names extends readonly string[]>(
  example: string,
  names: Names,
  [min, max]: readonly [number, number],
) =>
  pairs(example).transform((entries, context): Partial<Record<Names[number], number>> => {
    const unknown = entries.find(([name]) => !names.includes(name))
    const malformed = entries.find(([, value]) => !DECIMAL.test(value))
    const beyond = entries.find(([, value]) => Number(value) < min || Number(value) > max)
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    if (unknown) return refuse(got(`tiers of ${names.join(', ')}`, unknown[0]))
    if (malformed) return refuse(got(example, malformed.join('=')))
    if (beyond) return refuse(got(`factors from ${min} to ${max}`, beyond[1]))
    return Object.fromEntries(entries.map(([name, value]) => [name, Number(value)])) as Partial<
      Record<Names[number], number>
    >
  })

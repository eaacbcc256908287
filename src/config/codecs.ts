import { z } from 'zod'
import { type ChainId, MAX_CHAIN_ID } from '../protocol/chains.ts'

/*
 * The types of variables. Every error repeats the value, truncated, and names the expected values: none of these
 * variables is a secret.
 */

const MAX_SHOWN = 40

const shown = (text: string): string =>
  text.length > MAX_SHOWN ? `"${text.slice(0, MAX_SHOWN)}…"` : JSON.stringify(text)

const got = (expected: string, text: string): string => `expected ${expected}, got ${shown(text)}`

/** Digits only: no sign, blank, exponent, fraction, prefix or leading zero, which `Number` would accept. */
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

/** A TCP port; 0 selects a free one. */
export const port = integer(0, 65_535)

/** A port, or `off` to disable the server. */
export const portOrOff = z.string().transform((text, context): number | 'off' => {
  if (text === 'off') return text
  const { success, data } = port.safeParse(text)
  if (success) return data
  context.addIssue({ code: 'custom', message: got('a whole number from 0 to 65535, or off', text) })
  return z.NEVER
})

/** Whether the explorer is served: `on`, `off`, or the origin of a sandbox on this machine whose controls it shows. */
export const explorer = z.string().transform((text, context): { readonly sandboxUrl: string | null } | null => {
  if (text === 'off') return null
  if (text === 'on') return { sandboxUrl: null }
  if (/^http:\/\/127\.0\.0\.1:\d{1,5}$/.test(text)) return { sandboxUrl: text }
  context.addIssue({ code: 'custom', message: got('on, off, or http://127.0.0.1:<port> of a sandbox', text) })
  return z.NEVER
})

const isChainId = (text: string): boolean => DIGITS.test(text) && Number(text) > 0 && Number(text) <= MAX_CHAIN_ID

/** A chain id. Whether it is one of the configured chains is checked where these are known. */
export const chainId = z
  .string()
  .refine(isChainId, { error: ({ input }) => got(`a chain id from 1 to ${MAX_CHAIN_ID}`, String(input)) })
  .transform(Number)

/** Chain ids separated by commas, at least one and at most `max`, each once. */
export const chainIds = (max: number) =>
  z.string().transform((text, context): readonly [ChainId, ...ChainId[]] => {
    const ids = text.split(',').map((id) => id.trim())
    const strange = ids.find((id) => !isChainId(id))
    const [first = 0, ...others] = ids.map(Number)
    const twice = ids.find((id, at) => ids.indexOf(id) !== at)
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    if (strange !== undefined) return refuse(got(`chain ids from 1 to ${MAX_CHAIN_ID}, separated by commas`, strange))
    if (twice !== undefined) return refuse(`${twice} is given twice: remove one of them`)
    if (ids.length > max) return refuse(`expected at most ${max} chain ids, got ${ids.length}: remove some`)
    return [first, ...others]
  })

/** One of a list of words. */
export const oneOf = <const Words extends readonly [string, string, ...string[]]>(words: Words) =>
  z.enum(words, {
    error: ({ input }) => {
      const expected = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
      return typeof input === 'string' ? got(expected, input) : `expected ${expected}`
    },
  })

export const trueOrFalse = oneOf(['true', 'false']).transform((word) => word === 'true')

/** A URL with one of the given schemes. Errors do not repeat its value, because it may contain a password. */
export const url = (schemes: RegExp, expected: string) =>
  z
    .string({ error: `expected ${expected}` })
    .refine((text) => !/\s/.test(text), { error: 'expected a URL without blanks', abort: true })
    .pipe(z.url({ protocol: schemes, error: `expected ${expected}` }))

/** Keys of 32 bytes in hex digits, separated by commas, at most `max`. Errors do not repeat them. */
export const keys = (max: number) => {
  const expected = `1 to ${max} keys of 64 hex digits, separated by commas: make one with openssl rand -hex 32`
  return z
    .string({ error: `expected ${expected}` })
    .transform((list) => list.split(',').map((key) => key.trim()))
    .refine((all) => all.length <= max && all.every((key) => /^[0-9a-f]{64}$/i.test(key)), `expected ${expected}`)
    .transform((all): [Buffer, ...Buffer[]] => {
      const [first = Buffer.alloc(0), ...others] = all.map((key) => Buffer.from(key, 'hex'))
      return [first, ...others]
    })
}

/** A host name or address to listen on. */
export const host = z.string().refine((text) => /^\S+$/.test(text), {
  error: ({ input }) => got('a host without blanks', String(input)),
})

/** A short text in one line, such as a name. */
export const text = (expected: string) =>
  z.string({ error: `expected ${expected}` }).refine((value) => /^\S(.{0,98}\S)?$/.test(value), {
    error: ({ input }) => got(`${expected} in at most 100 characters, without blanks around it`, String(input)),
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

import { type Address, getAddress, type Hex } from 'viem'
import { z } from 'zod'
import { MAX_DETAILS } from '../../lib/errors.ts'
import { MAX_UINT256 } from '../../lib/fixed.ts'
import { MAX_TEXT } from './text.ts'
import { expected, type Unit } from './units.ts'

/*
 * The schemas of fields in requests. Inputs are checked as text before they are converted: `0x2105`, `1e1`, blanks and
 * signs are rejected. OpenAPI shows the `.meta` of each.
 */

/** Parameters that a query does not have, and what the error adds about each: which request has it. */
export const hints = z.registry<Readonly<Record<string, string>>>()

const DIGITS = /^\d+$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const BYTES32 = /^0x[0-9a-fA-F]{64}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/
const SELECTOR = /^0x[0-9a-fA-F]{8}$/

/** Decimal digits up to `max`. The length is checked first, so that no huge bigint is created. */
const digits = (max: bigint, unit: Unit, isText: boolean) => {
  const error = ({ input }: { readonly input?: unknown }) =>
    typeof input === 'string' && DIGITS.test(input)
      ? `expected a number of at most ${max}`
      : expected(unit, input, isText)
  return z.string({ error }).refine((text) => text.length <= 78 && DIGITS.test(text) && BigInt(text) <= max, { error })
}

const ofPath = (unit: Unit) =>
  digits(BigInt(Number.MAX_SAFE_INTEGER), unit, false)
    .transform(Number)
    .meta({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** An id or count in a path or query: `^\d+$` up to 2^53 - 1, decoded to a number. */
export const PathInteger = ofPath('number')
/** The same of a time. */
export const PathSeconds = ofPath('seconds')

/** A point in the history of a chain: a block, or a time in Unix seconds. */
export type Moment = { readonly block: bigint } | { readonly seconds: bigint }

/** The first number that is a time: block numbers are below it, and times of a chain are not. */
const FIRST_TIME = 1_000_000_000

const isoTime = z.union([z.iso.datetime({ offset: true }), z.iso.date()])

const momentOf = (text: string): Moment | null => {
  if (DIGITS.test(text)) {
    const number = Number(text)
    if (number > Number.MAX_SAFE_INTEGER) return null
    return number < FIRST_TIME ? { block: BigInt(text) } : { seconds: BigInt(text) }
  }
  if (text.length > MAX_ISO || !isoTime.safeParse(text).success) return null
  const seconds = Math.floor(Date.parse(text) / 1_000)
  return seconds < 0 ? null : { seconds: BigInt(seconds) }
}

/** Characters of the longest ISO time: nanoseconds and an offset. */
const MAX_ISO = 35

/** A block number, a time in Unix seconds, or an ISO 8601 time with its offset; a date is its first moment in UTC. */
export const QueryMoment = z
  .string()
  .transform((text, context): Moment => {
    const moment = momentOf(text)
    if (moment !== null) return moment
    context.addIssue({
      code: 'custom',
      message:
        'expected a block number, a time in Unix seconds, a time with its offset such as 2026-09-30T23:59:59Z (a + is sent as %2B), or a date, which is its first moment in UTC',
    })
    return z.NEVER
  })
  .meta({ type: 'string' })

/** The maximum number of items on a page, 1 to `max`. Values outside are rejected, not clamped. */
export const PageLimit = (max: number, error = `expected an integer from 1 to ${max}`) =>
  z
    .string({ error })
    .refine((text) => DIGITS.test(text) && Number(text) >= 1 && Number(text) <= max, { error })
    .transform(Number)
    .meta({ type: 'integer', minimum: 1, maximum: max })

/** An optional time to wait in milliseconds, 0 to `max`. */
export const WaitMs = (max: number, description: string, error = `expected milliseconds from 0 to ${max}`) =>
  z
    .string({ error })
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= max, { error })
    .transform(Number)
    .optional()
    .meta({ description, type: 'integer', minimum: 0, maximum: max })

const uint256 = (unit: Unit, isText: boolean) =>
  digits(MAX_UINT256, unit, isText).transform(BigInt).meta({ type: 'string', pattern: '^\\d+$', maxLength: 78 })

/** A uint256 of a body as a decimal string, decoded to bigint, by its unit. */
export const uints: Readonly<Record<Unit, ReturnType<typeof uint256>>> = {
  rate: uint256('rate', true),
  amount: uint256('amount', true),
  seconds: uint256('seconds', true),
  number: uint256('number', true),
}

/** An amount and a rate of a query. */
export const QueryAmount = uint256('amount', false)
export const QueryRate = uint256('rate', false)

/** An id of a body: a decimal string up to 2^256 - 1 or a JSON integer up to 2^53 - 1, decoded to bigint. */
export const BodyInteger = z
  .union([z.int().nonnegative().transform(BigInt), uints.number], {
    error: 'expected an id, a non-negative integer such as 7 or "7"',
  })
  .meta({
    // Each constraint applies to the values of its type.
    type: ['integer', 'string'],
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    pattern: '^\\d+$',
    maxLength: 78,
  })

const addressMeta = {
  type: 'string',
  pattern: ADDRESS.source,
} as const
const notAnAddress = 'expected a 20-byte 0x address: 0x and 40 hex digits'
const addressText = z
  .string({ error: notAnAddress })
  .refine((text) => ADDRESS.test(text), { error: notAnAddress, abort: true })
const checksummed = (text: string): Address => getAddress(text.toLowerCase())

/** An address in any letter case, decoded to its EIP-55 form. The letter case is not checked as a checksum. */
export const Address20 = addressText.transform(checksummed).meta(addressMeta)

const hasChecksum = (text: string): boolean => /[a-f]/.test(text) && /[A-F]/.test(text)
const WRONG_CHECKSUM =
  'wrong EIP-55 checksum: check the address for mistyped digits, or send it in lower case to skip this check'

/**
 * An address that a transaction gives tokens or rights to, decoded to its EIP-55 form. Mixed case is a checksum, which
 * must be correct. Letters of one case carry no checksum.
 */
export const Destination = addressText
  .transform((text, context) => {
    const address = checksummed(text)
    if (text === address || !hasChecksum(text)) return address
    context.addIssue({ code: 'custom', message: WRONG_CHECKSUM })
    return z.NEVER
  })
  .meta({
    ...addressMeta,
    description: 'All lower case, all upper case, or mixed case with the correct EIP-55 checksum',
  })

/** The same of a token. */
export const TokenDestination = Destination.meta({
  description: 'Address of the token, with a correct EIP-55 checksum or in letters of one case',
})

/** Bytes of the longest transaction that networks accept, and the length of its hex. */
const MAX_TX_BYTES = 131_072
export const MAX_TX_HEX = 2 + 2 * MAX_TX_BYTES
/** In calldata every item of a list takes a word of 32 bytes. */
const MAX_TX_WORDS = MAX_TX_BYTES / 32

const hex = (pattern: RegExp, what: string, maxLength = Number.POSITIVE_INFINITY) => {
  const fits = (text: string): boolean => text.length <= maxLength && pattern.test(text)
  const lower = (text: string): Hex => `0x${text.slice(2).toLowerCase()}`
  const error = `expected ${what}`
  return z
    .string({ error })
    .refine(fits, { error, abort: true })
    .transform(lower)
    .meta({ type: 'string', pattern: pattern.source, ...(Number.isFinite(maxLength) && { maxLength }) })
}

/** Exactly 32 bytes of hex. */
export const Bytes32 = hex(BYTES32, '32 bytes of 0x hex: 0x and 64 hex digits')

/** Whole bytes of hex, as many as a transaction can hold at most; `0x` is the empty value. */
export const Bytes = hex(BYTES, `0x hex of at most ${MAX_TX_BYTES} whole bytes`, MAX_TX_HEX)

/** A 4-byte function selector. */
export const Selector = hex(SELECTOR, 'a 4-byte 0x selector')

/** A JSON boolean; the strings "true" and "false" are not. */
export const Bool = z.boolean({ error: 'expected true or false, without quotes' })

/** Half of a surrogate pair: not a character, so the chain would not return it as it was sent. */
const LONE_SURROGATE = /\p{Surrogate}/u

const isText = (text: string): boolean => text.trim() !== '' && !LONE_SURROGATE.test(text)

/** Text that is not blank, kept unchanged. */
export const Text = z
  .string({ error: 'expected text' })
  .max(MAX_TEXT, { error: `expected text of at most ${MAX_TEXT} characters`, abort: true })
  .refine(isText, { error: 'expected text that is not blank' })
  .meta({ type: 'string', minLength: 1 })

/** Selects the items of a list to parse; adds an issue when it rejects the list without parsing. */
type Select = (items: unknown[], context: z.RefinementCtx) => unknown

/** The error of an empty list. */
export const AT_LEAST_ONE = { error: 'expected at least one item' }

/** A list of at most `max` items. Checks the length, and then the condition of `select`, before it parses any item. */
export const atMost = <I extends z.ZodType>(list: z.ZodArray<I>, max: number, select: Select = (items) => items) =>
  z.preprocess((value, context) => {
    if (!Array.isArray(value)) return value
    if (value.length <= max) return select(value, context)
    context.addIssue({ code: 'custom', message: `expected at most ${max} items` })
    return z.NEVER
  }, list.max(max))

/** The same for scalars, of which a body can hold many: parsing stops at the number of faults that an error lists. */
export const scalarsAtMost = <I extends z.ZodType>(list: z.ZodArray<I>, max: number) =>
  atMost(list, max, (items) => {
    let faults = 0
    const last = items.findIndex((item) => !list.element.safeParse(item).success && ++faults === MAX_DETAILS)
    return last === -1 ? items : items.slice(0, last + 1)
  })

const listsOf = (item: unknown): unknown[][] =>
  typeof item === 'object' && item !== null ? Object.values(item).filter(Array.isArray) : []

/** The same for objects that contain lists: their total number of items is limited to the size of a transaction. */
export const objectsAtMost = <I extends z.ZodType>(list: z.ZodArray<I>, max: number) =>
  atMost(list, max, (items, context) => {
    const words = items.flatMap(listsOf).reduce((sum, { length }) => sum + length, 0)
    if (words <= MAX_TX_WORDS) return items
    context.addIssue({ code: 'custom', message: `expected lists of at most ${MAX_TX_WORDS} items together` })
    return z.NEVER
  })

/** The action of a diamond cut on a facet's selectors: 0 add, 1 replace, 2 remove. */
export const FacetAction = z
  .int({ error: 'expected 0, 1 or 2' })
  .min(0, { error: 'expected 0, 1 or 2' })
  .max(2, { error: 'expected 0, 1 or 2' })

import type { AbiParameter } from 'viem'

/*
 * Encodes arguments by the contract ABI specification, for the types of the calls that this service makes. The position
 * of each argument depends only on the types and is computed once. Throws a TypeError or RangeError for a value of
 * another type.
 */

const WORD_BYTES = 32
const WORD_DIGITS = 2 * WORD_BYTES

/** Encodes a value as hex without its prefix. */
export type Encode = (value: unknown) => string

/**
 * The layout of a type: its bytes in the head of the enclosing value; null for a dynamic type, which goes to the tail.
 */
type Layout = { readonly headBytes: number | null; readonly encode: Encode }

/** A member of a struct: its type and its name in the value. */
export type Member = { readonly name: string; readonly parameter: AbiParameter }

const word = (value: unknown): string => {
  if (typeof value !== 'bigint' && typeof value !== 'number') throw new TypeError('expected an integer')
  const hex = value.toString(16)
  if (value < 0 || hex.length > WORD_DIGITS) throw new RangeError('expected an unsigned integer of at most 256 bits')
  return hex.padStart(WORD_DIGITS, '0')
}

const text = (value: unknown): string => {
  if (typeof value !== 'string') throw new TypeError('expected text')
  return value
}

const digits = (hex: unknown): string => text(hex).slice(2).toLowerCase()

const filled = (hex: string): string => hex.padEnd(Math.ceil(hex.length / WORD_DIGITS) * WORD_DIGITS, '0')

const bytes = (hex: string): string => word(hex.length / 2) + filled(hex)

const inHead = (encode: Encode): Layout => ({ headBytes: WORD_BYTES, encode })
const inTail = (encode: Encode): Layout => ({ headBytes: null, encode })

const layouts: Readonly<Record<string, Layout>> = {
  uint256: inHead(word),
  uint8: inHead(word),
  bool: inHead((value) => word(value === true ? 1 : 0)),
  address: inHead((value) => digits(value).padStart(WORD_DIGITS, '0')),
  bytes32: inHead((value) => filled(digits(value))),
  bytes4: inHead((value) => filled(digits(value))),
  bytes: inTail((value) => bytes(digits(value))),
  string: inTail((value) => bytes(Buffer.from(text(value)).toString('hex'))),
}

/** A sequence of values: the head with each static value or the tail offset of a dynamic one, then the tail. */
const sequence = (parts: readonly Layout[], values: (at: number) => unknown, headBytes: number): string => {
  let head = ''
  let tail = ''
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as Layout
    const encoded = part.encode(values(at))
    if (part.headBytes !== null) head += encoded
    else {
      head += word(headBytes + tail.length / 2)
      tail += encoded
    }
  }
  return head + tail
}

const headOf = (parts: readonly Layout[]): number =>
  parts.reduce((sum, { headBytes }) => sum + (headBytes ?? WORD_BYTES), 0)

const arrayOf = (item: Layout): Layout =>
  inTail((value) => {
    if (!Array.isArray(value)) throw new TypeError('expected a list')
    const parts = Array.from(value, () => item)
    return word(value.length) + sequence(parts, (at) => value[at], headOf(parts))
  })

/** The layout of a struct; its value is an object. */
const structOf = (members: readonly Member[]): Layout => {
  const names = members.map(({ name }) => name)
  const parts = members.map(({ parameter }) => layoutOf(parameter))
  const headBytes = headOf(parts)
  return {
    headBytes: parts.some((part) => part.headBytes === null) ? null : headBytes,
    encode(value) {
      if (typeof value !== 'object' || value === null) throw new TypeError('expected an object')
      const given = value as Readonly<Record<string, unknown>>
      return sequence(parts, (at) => given[names[at] as string], headBytes)
    },
  }
}

const membersOf = (parameters: readonly AbiParameter[]): readonly Member[] =>
  parameters.map((parameter) => ({ name: parameter.name ?? '', parameter }))

const layoutOf = (parameter: AbiParameter): Layout => {
  const { type } = parameter
  if (type.endsWith('[]')) return arrayOf(layoutOf({ ...parameter, type: type.slice(0, -2) }))
  const layout = 'components' in parameter ? structOf(membersOf(parameter.components)) : layouts[type]
  if (layout === undefined) throw new TypeError(`no layout for ABI type ${type}`)
  return layout
}

/**
 * Compiles the encoder of a function's arguments, given as an object by name. `isStruct` is true when the function
 * takes one struct with these members.
 */
export const compileEncoder = (members: readonly Member[], isStruct: boolean): Encode => {
  const { headBytes, encode } = structOf(members)
  const offset = isStruct && headBytes === null ? word(WORD_BYTES) : ''
  return (value) => offset + encode(value)
}

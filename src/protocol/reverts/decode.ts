import { type Hex, toFunctionSelector } from 'viem'
import { clip } from '../../lib/errors.ts'
import { revertByCode, reverts } from './catalogue.ts'
import type { Revert } from './revert.ts'

/** A failed call: `code` and `hint` are the catalogue's, `reason` is the contract's or the node's own. */
export type DecodedRevert = Pick<Revert, 'code' | 'hint'> & { readonly reason: string }

/** A reason is chosen by a contract: at most this many of its bytes are read, and so many characters returned. */
const MAX_BYTES = 1_024
const MAX_REASON = 200

const WORD = 32
const SELECTOR = 4
const ERROR = '0x08c379a0'
const PANIC = '0x4e487b71'

/** The prefix of the text that nodes add to a revert's text. */
export const REVERTED = 'execution reverted'

const CUSTOM_ERROR = /^[A-Z]\w*\([a-z\d,]*\)$/

/** Ends of texts that tokens begin with their own name, in lower case. */
const suffixes = [
  { suffix: 'transfer amount exceeds allowance', code: 'insufficient_allowance' },
  { suffix: 'transfer amount exceeds balance', code: 'insufficient_balance' },
] as const

const rowsByReason = new Map<string, readonly Revert[]>()
for (const row of reverts) {
  for (const reason of row.reasons) rowsByReason.set(reason, [...(rowsByReason.get(reason) ?? []), row])
}

/** Custom errors of the catalogue by their selector. */
const errorsBySelector = new Map(
  [...rowsByReason.keys()]
    .filter((reason) => CUSTOM_ERROR.test(reason))
    .map((reason) => [toFunctionSelector(reason), reason]),
)

const withoutReason = revertByCode('reverted_without_reason')
const unknownReason = revertByCode('unknown_reason')
const unknownError = revertByCode('unknown_error')
const executionFailed = revertByCode('execution_failed')
const bySuffix = suffixes.map(({ suffix, code }) => ({ suffix, row: revertByCode(code) }))

const decoded = ({ code, hint }: Revert, reason: string): DecodedRevert => ({
  code,
  reason: clip(reason, MAX_REASON),
  hint,
})

/** The row of a reason: one that lists the called function, else one of any function, else the one of most functions. */
const find = (reason: string, functionName: string | undefined): Revert | undefined => {
  const rows = rowsByReason.get(reason) ?? []
  const breadth = ({ functions }: Revert): number => functions.length || Number.POSITIVE_INFINITY
  return (
    rows.find(({ functions }) => functionName !== undefined && functions.includes(functionName)) ??
    rows.toSorted((a, b) => breadth(b) - breadth(a))[0]
  )
}

const ofText = (text: string, functionName: string | undefined): DecodedRevert => {
  if (text === '') return decoded(withoutReason, REVERTED)
  const lowerCased = text.toLowerCase()
  const row = find(text, functionName) ?? bySuffix.find(({ suffix }) => lowerCased.endsWith(suffix))?.row
  return decoded(row ?? unknownReason, text)
}

/** The number in a word; null when there is no such word, or it is larger than any offset or length. */
const numberAt = (bytes: Buffer, at: number): number | null => {
  const word = bytes.subarray(at, at + WORD)
  if (word.length < WORD) return null
  const value = BigInt(`0x${word.toString('hex')}`)
  return value > Number.MAX_SAFE_INTEGER ? null : Number(value)
}

/** The text of an `Error(string)`, as far as there are bytes; null for bytes that are not one. */
const textOf = (bytes: Buffer): string | null => {
  const offset = numberAt(bytes, SELECTOR)
  const length = offset === null ? null : numberAt(bytes, SELECTOR + offset)
  if (offset === null || length === null) return null
  const start = SELECTOR + offset + WORD
  return bytes.toString('utf8', start, Math.min(start + Math.min(length, MAX_BYTES), bytes.length))
}

const ofBytes = (bytes: Buffer, functionName: string | undefined): DecodedRevert => {
  const selector = `0x${bytes.toString('hex', 0, SELECTOR)}`
  if (selector === ERROR) {
    const text = textOf(bytes)
    if (text !== null) return ofText(text, functionName)
  }
  const panic = bytes.subarray(SELECTOR, SELECTOR + WORD)
  if (selector === PANIC && panic.length === WORD) {
    const reason = `Panic(0x${BigInt(`0x${panic.toString('hex')}`)
      .toString(16)
      .padStart(2, '0')})`
    return decoded(find(reason, functionName) ?? unknownError, reason)
  }
  const error = errorsBySelector.get(selector as Hex)
  const row = error === undefined ? undefined : find(error, functionName)
  return row === undefined || error === undefined ? decoded(unknownError, selector) : decoded(row, error)
}

/**
 * Decodes a failed call: the bytes that it returned or, without bytes, the node's message. `functionName` chooses among
 * rows with the same reason. Never throws, whatever the bytes and the message are.
 *
 * @example
 * revertOf({ data: null, message: 'execution reverted: Past deadline' }, 'buyProtection').code // 'past_deadline'
 */
export const revertOf = (
  failed: { readonly data: Hex | null; readonly message: string },
  functionName?: string,
): DecodedRevert => {
  const bytes = Buffer.from(failed.data?.slice(2, 2 + 2 * MAX_BYTES) ?? '', 'hex')
  if (bytes.length > 0) return ofBytes(bytes, functionName)
  const { message } = failed
  const lowerCased = message.toLowerCase()
  if (lowerCased.startsWith(REVERTED)) {
    const rest = message.slice(REVERTED.length)
    return ofText(rest.startsWith(': ') ? rest.slice(2) : rest.trim(), functionName)
  }
  return lowerCased.includes('revert') ? decoded(unknownReason, message) : decoded(executionFailed, message)
}

/** The failure of a call that returned more bytes than are read. */
export const revertTooLong: DecodedRevert = decoded(unknownReason, `${REVERTED} with more data than is read`)

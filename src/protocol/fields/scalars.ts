import { clip } from '../../lib/errors.ts'
import { clamped, decimal } from './response-fields.ts'
import { cutText } from './text.ts'

/** A value of the arguments of a call or a log in an answer. */
export type Scalar = string | number | boolean | null

/** Most characters of bytes, and of the JSON of a struct or list. */
const MAX_CHARACTERS = 1_024

/** Ids, times and counts among the integers of the protocol: JSON integers, as in every answer. */
const COUNTED = /(?:Id|^id|^expiry|Date|^deadline|Timestamp|^eta|Count|^required|Signers|[bB]ps)$/

const asJson = (value: unknown): string =>
  clip(
    JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part)) ?? 'null',
    MAX_CHARACTERS,
  )

/**
 * A decoded argument as a scalar: an id, time or count is a JSON integer, any other integer a decimal string, a struct
 * or list one compact JSON string. An integer above 2^53 - 1 that a caller chose as id or time is shown as 2^53 - 1.
 * Long values are cut.
 */
export const scalarOf = (name: string, value: unknown): Scalar => {
  if (typeof value === 'bigint') return COUNTED.test(name) ? clamped(value) : decimal(value)
  if (typeof value === 'string') return value.startsWith('0x') ? clip(value, MAX_CHARACTERS) : cutText(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return asJson(value)
}

import { z } from 'zod'
import { upstream } from '../../lib/errors.ts'

/*
 * The schemas of fields in responses. Ids, times and counts are JSON integers, every amount, price and rate a decimal
 * string.
 */

/** A non-negative JSON integer. */
export const Integer = z.int().nonnegative()
/** A non-negative integer as a decimal string. It has no limit: sums and products of values of a chain can be long. */
export const Decimal = z.string().regex(/^\d+$/)
const AddressText = z
  .string()
  .length(42)
  .regex(/^0x[0-9a-fA-F]{40}$/)

/** A non-negative integer: a value of the chain, or its decimal text as the database returns it. */
export type Whole = bigint | string

/** Outputs of views whose integers may also be decimal texts. */
export type Readable<T> = T extends bigint ? Whole : T extends object ? { readonly [K in keyof T]: Readable<T[K]> } : T

/** A count, id or time as a JSON integer. Throws `upstream_error` above 2^53 - 1, which no valid chain returns. */
export const integer = (value: Whole): number => {
  const number = Number(value)
  if (number > Number.MAX_SAFE_INTEGER) throw upstream('the chain returned an id, count or time above 2^53 - 1')
  return number
}

/** A time or count that a caller may choose, as a JSON integer: a greater value is shown as 2^53 - 1. */
export const clamped = (value: Whole): number => Math.min(Number(value), Number.MAX_SAFE_INTEGER)

/** An amount, price or rate as a decimal string. */
export const decimal = (value: Whole): string => (typeof value === 'string' ? value : value.toString())

/**
 * What the integer of a field stands for: an amount by the decimals of its token, a time in Unix seconds, or a number
 * with this many decimals.
 */
export type Scale = 'token' | 'seconds' | number

/** The last second of the year 9999, the last one that ISO 8601 writes with four digits and that databases have. */
export const MAX_SECONDS = 253_402_300_799

/** The scales of fields that have one. */
export const scales = z.registry<{ readonly scale: Scale }>()

export const Id = Integer.meta({ description: 'Id, per chain and kind' })
export const Amount = Decimal.meta({ description: 'Payment-token units' }).register(scales, { scale: 'token' })
export const Rate = Decimal.meta({ description: '1e6 fixed point' }).register(scales, { scale: 6 })
export const UnixSeconds = Integer.meta({ description: 'Unix seconds' }).register(scales, { scale: 'seconds' })
export const TokenAddress = AddressText
export const Account = AddressText

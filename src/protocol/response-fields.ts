import { z } from 'zod'
import { upstream } from '../lib/errors.ts'

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

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** A count, id or time as a JSON integer. Throws `upstream_error` above 2^53 - 1, which no valid chain returns. */
export const integer = (value: bigint): number => {
  if (value > MAX_SAFE) throw upstream('the chain returned an id, count or time above 2^53 - 1')
  return Number(value)
}

/** A time or count that a caller may choose, as a JSON integer: a greater value is shown as 2^53 - 1. */
export const clamped = (value: bigint): number => Number(value < MAX_SAFE ? value : MAX_SAFE)

/** An amount, price or rate as a decimal string. */
export const decimal = (value: bigint): string => value.toString()

export const Id = Integer.meta({ description: 'Id, per chain and kind' })
export const Amount = Decimal.meta({ description: 'Payment-token units' })
export const Rate = Decimal.meta({ description: '1e6 fixed point' })
export const UnixSeconds = Integer.meta({ description: 'Unix seconds' })
export const TokenAddress = AddressText
export const Account = AddressText

import type { Hex } from 'viem'

/** Start and end of an RLP item's content. */
type Item = { readonly isList: boolean; readonly start: number; readonly end: number }

/** The item at an offset; undefined when there is none, or when it is longer than its container. */
const itemAt = (bytes: Buffer, at: number, end: number): Item | undefined => {
  const head = bytes[at]
  if (head === undefined || at >= end) return undefined
  if (head < 0x80) return { isList: false, start: at, end: at + 1 }
  const isList = head >= 0xc0
  const short = head - (isList ? 0xc0 : 0x80)
  // Above 55 the head has the size of the length field. A length of more than four bytes exceeds any body.
  const lengthBytes = Math.max(0, short - 55)
  const start = at + 1 + lengthBytes
  if (lengthBytes > 4 || start > end) return undefined
  const length = lengthBytes === 0 ? short : bytes.readUIntBE(at + 1, lengthBytes)
  return start + length > end ? undefined : { isList, start, end: start + length }
}

/** Maximum fields of any transaction type. */
const MAX_FIELDS = 14

/**
 * The fields of a transaction whose list of fields begins at an offset and fills the bytes; undefined for other bytes.
 */
export const fieldsOf = (bytes: Buffer, at: number): readonly Item[] | undefined => {
  const list = itemAt(bytes, at, bytes.length)
  if (list === undefined || !list.isList || list.end !== bytes.length) return undefined
  const fields: Item[] = []
  for (let next = list.start; next < list.end; ) {
    const field = itemAt(bytes, next, list.end)
    if (field === undefined || fields.length === MAX_FIELDS) return undefined
    fields.push(field)
    next = field.end
  }
  return fields
}

/** The integer of a field; undefined for a list and for more than 32 bytes. */
export const integer = (bytes: Buffer, field: Item | undefined): bigint | undefined => {
  if (field === undefined || field.isList || field.end - field.start > 32) return undefined
  return BigInt(`0x0${bytes.toString('hex', field.start, field.end)}`)
}

/**
 * The chain of a transaction without a type (EIP-155): `v` is 35 or 36 plus twice the chain id. Before signing, `v` is
 * the chain id.
 */
const ofLegacy = (bytes: Buffer): bigint | undefined => {
  const fields = fieldsOf(bytes, 0)
  if (fields?.length !== 9) return undefined
  const [v, r, s] = fields.slice(6).map((field) => integer(bytes, field))
  if (v === undefined) return undefined
  if (r === 0n && s === 0n) return v
  return v < 35n ? undefined : (v - 35n) / 2n
}

/** The transaction types whose first field is the chain id: EIP-2930, 1559, 4844 and 7702. */
const types: readonly (number | undefined)[] = [1, 2, 3, 4]

/**
 * The chain of a transaction; undefined when it names no chain or has an unknown form. Reads only the outer fields: the
 * node checks the content of lists and data, which would take long to decode.
 */
export const signedFor = (transaction: Hex): bigint | undefined => {
  const bytes = Buffer.from(transaction.slice(2), 'hex')
  // Buffer ignores half a byte at the end.
  if (transaction.length % 2 === 1) return undefined
  const [type = 0] = bytes
  const chainId = types.includes(type) ? integer(bytes, fieldsOf(bytes, 1)?.[0]) : ofLegacy(bytes)
  return chainId === 0n ? undefined : chainId
}

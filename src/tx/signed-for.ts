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

/** The fields of the list that begins at an offset; undefined for anything else, and for a list of more fields. */
const listAt = (bytes: Buffer, at: number): { readonly fields: readonly Item[]; readonly end: number } | undefined => {
  const list = itemAt(bytes, at, bytes.length)
  if (list === undefined || !list.isList) return undefined
  const fields: Item[] = []
  for (let next = list.start; next < list.end; ) {
    const field = itemAt(bytes, next, list.end)
    if (field === undefined || fields.length === MAX_FIELDS) return undefined
    fields.push(field)
    next = field.end
  }
  return { fields, end: list.end }
}

/**
 * The fields of a transaction whose list of fields begins at an offset and fills the bytes; undefined for other bytes.
 */
export const fieldsOf = (bytes: Buffer, at: number): readonly Item[] | undefined => {
  const list = listAt(bytes, at)
  return list?.end === bytes.length ? list.fields : undefined
}

/**
 * The number of fields of a signed transaction, by type: EIP-2930, 1559, 4844 (also with its blobs around it) and 7702.
 */
const fieldCounts: Readonly<Record<number, readonly number[]>> = { 1: [11], 2: [12], 3: [14, 4, 5], 4: [13] }

/** The same for a transaction without a type. */
const LEGACY_FIELDS = 9

/** How many bytes follow a complete transaction; 0 for bytes that are none, which the node rejects. */
export const bytesAfter = (transaction: Hex): number => {
  const bytes = Buffer.from(transaction.slice(2), 'hex')
  const [first = 0] = bytes
  const list = listAt(bytes, first < 0xc0 ? 1 : 0)
  const counts = first < 0xc0 ? fieldCounts[first] : [LEGACY_FIELDS]
  return list !== undefined && counts?.includes(list.fields.length) ? bytes.length - list.end : 0
}

/** The integer of a field; undefined for a list and for more than 32 bytes. */
export const integer = (bytes: Buffer, field: Item | undefined): bigint | undefined => {
  if (field === undefined || field.isList || field.end - field.start > 32) return undefined
  return BigInt(`0x0${bytes.toString('hex', field.start, field.end)}`)
}

/** The signature of a transaction without a type; undefined for other bytes. */
const legacySignature = (bytes: Buffer) => {
  const fields = fieldsOf(bytes, 0)
  if (fields?.length !== LEGACY_FIELDS) return undefined
  const [v, r, s] = fields.slice(6).map((field) => integer(bytes, field))
  return v === undefined ? undefined : { v, isSigned: r !== 0n || s !== 0n }
}

/**
 * The chain in the `v` of a transaction without a type (EIP-155): `v` is 35 or 36 plus twice the chain id. Null for 27
 * and 28, which contain no chain, and undefined for any other number, which no signature has.
 */
export const chainOfV = (v: bigint): bigint | null | undefined => {
  if (v >= 35n) return (v - 35n) / 2n
  return v === 27n || v === 28n ? null : undefined
}

/** The chain of a transaction without a type. Before signing, `v` is the chain id. */
const ofLegacy = (bytes: Buffer): bigint | null | undefined => {
  const signature = legacySignature(bytes)
  return signature?.isSigned === false ? signature.v : signature && chainOfV(signature.v)
}

/** The `v` of a signed transaction without a type if no signature has it; null for any other bytes. */
export const invalidV = (transaction: Hex): bigint | null => {
  const signature = legacySignature(Buffer.from(transaction.slice(2), 'hex'))
  return signature?.isSigned === true && chainOfV(signature.v) === undefined ? signature.v : null
}

/**
 * The chain of a transaction; null when it names none, so that it is valid on every chain, and undefined when it has an
 * unknown form. Reads only the outer fields: the node checks the content of lists and data, which would take long to
 * decode.
 */
export const signedFor = (transaction: Hex): bigint | null | undefined => {
  const bytes = Buffer.from(transaction.slice(2), 'hex')
  const [type = 0] = bytes
  // The first field of every type in the table is the chain id.
  const chainId = type in fieldCounts ? integer(bytes, fieldsOf(bytes, 1)?.[0]) : ofLegacy(bytes)
  return chainId === 0n ? undefined : chainId
}

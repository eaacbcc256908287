import type { Hex } from 'viem'

/** Where the content of an RLP item begins and ends. */
type Item = { readonly isList: boolean; readonly start: number; readonly end: number }

/** The item at a place; undefined where there is none or it is longer than what holds it. */
const itemAt = (bytes: Buffer, at: number, end: number): Item | undefined => {
  const head = bytes[at]
  if (head === undefined || at >= end) return undefined
  if (head < 0x80) return { isList: false, start: at, end: at + 1 }
  const isList = head >= 0xc0
  const short = head - (isList ? 0xc0 : 0x80)
  // Above 55 the head says how many bytes the length takes; more than four count more than any body holds.
  const lengthBytes = Math.max(0, short - 55)
  const start = at + 1 + lengthBytes
  if (lengthBytes > 4 || start > end) return undefined
  const length = lengthBytes === 0 ? short : bytes.readUIntBE(at + 1, lengthBytes)
  return start + length > end ? undefined : { isList, start, end: start + length }
}

/** No type of transaction has more fields. */
const MAX_FIELDS = 14

/** The fields of a transaction whose list of fields begins at a place and fills the bytes; undefined where they are not such a list. */
const fieldsOf = (bytes: Buffer, at: number): readonly Item[] | undefined => {
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

const integer = (bytes: Buffer, field: Item | undefined): bigint | undefined => {
  if (field === undefined || field.isList || field.end - field.start > 32) return undefined
  return BigInt(`0x0${bytes.toString('hex', field.start, field.end)}`)
}

/** Of a transaction without a type (EIP-155): `v` is 35 or 36 more than twice the chain id, and the chain id itself before it is signed. */
const ofLegacy = (bytes: Buffer): bigint | undefined => {
  const fields = fieldsOf(bytes, 0)
  if (fields?.length !== 9) return undefined
  const [v, r, s] = fields.slice(6).map((field) => integer(bytes, field))
  if (v === undefined) return undefined
  if (r === 0n && s === 0n) return v
  return v < 35n ? undefined : (v - 35n) / 2n
}

/** The types of transaction whose first field is the chain id: EIP-2930, 1559, 4844 and 7702. */
const types: readonly (number | undefined)[] = [1, 2, 3, 4]

/**
 * The chain that a transaction is for; undefined when it names none or is of no known form. Reads the transaction's outer fields alone: what
 * its lists and data hold is the node's to judge, and takes long to decode.
 */
export const signedFor = (transaction: Hex): bigint | undefined => {
  const bytes = Buffer.from(transaction.slice(2), 'hex')
  // The decoder drops half a byte at the end.
  if (transaction.length % 2 === 1) return undefined
  const [type = 0] = bytes
  const chainId = types.includes(type) ? integer(bytes, fieldsOf(bytes, 1)?.[0]) : ofLegacy(bytes)
  return chainId === 0n ? undefined : chainId
}

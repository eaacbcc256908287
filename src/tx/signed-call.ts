import { type Address, getAddress, type Hex, keccak256, numberToHex, recoverAddress, toRlp } from 'viem'
import type { SignedCall } from '../chain/simulate-signed.ts'
import { chainOfV, fieldsOf, integer } from './signed-for.ts'

/** The positions of the fields of a transaction. Value and input follow the target; the signature is at the end. */
type Layout = { readonly nonce: number; readonly gas: number; readonly to: number; readonly count: number }

/** By type: EIP-2930, 1559 and 7702. A transaction with blobs (type 3) is no call of this protocol. */
const layouts: Readonly<Record<number, Layout>> = {
  1: { nonce: 1, gas: 3, to: 4, count: 11 },
  2: { nonce: 1, gas: 4, to: 5, count: 12 },
  4: { nonce: 1, gas: 4, to: 5, count: 13 },
}

/** A transaction without a type. */
const legacy: Layout = { nonce: 0, gas: 2, to: 3, count: 9 }

const hexOf = (bytes: Buffer): Hex => `0x${bytes.toString('hex')}`

/** An integer as RLP. */
const encoded = (value: bigint): Buffer => Buffer.from(toRlp(value === 0n ? '0x' : numberToHex(value), 'bytes'))

/** A list as RLP, by its content. */
const listOf = (content: Buffer): Buffer => {
  if (content.length < 56) return Buffer.concat([Buffer.from([0xc0 + content.length]), content])
  const digits = content.length.toString(16)
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([0xf7 + length.length]), length, content])
}

/** The bytes that the sender signed, by the fields before the signature; undefined when no signature has this `v`. */
const unsigned = (type: number | null, fields: Buffer, v: bigint): Buffer | undefined => {
  if (type !== null) return Buffer.concat([Buffer.from([type]), listOf(fields)])
  const chain = chainOfV(v)
  if (chain === undefined) return undefined
  // EIP-155 signs the chain id too.
  return listOf(Buffer.concat([fields, ...(chain === null ? [] : [encoded(chain), encoded(0n), encoded(0n)])]))
}

const parityOf = (type: number | null, v: bigint): number => Number(type === null ? (v + 1n) % 2n : v)

/**
 * Reads the call of a signed transaction to a contract that `isTarget` accepts, and recovers its sender. Null for any
 * other transaction, and for malformed bytes, which the node rejects. Lists inside the transaction are not decoded,
 * because that would take long.
 */
export const signedCallOf = async (
  transaction: Hex,
  isTarget: (to: Address) => boolean,
): Promise<(Omit<SignedCall, 'hash'> & { readonly to: Address }) | null> => {
  const bytes = Buffer.from(transaction.slice(2), 'hex')
  const [first = 0] = bytes
  const type = first < 0xc0 ? first : null
  const layout = type === null ? legacy : layouts[type]
  const start = type === null ? 0 : 1
  const fields = layout && fieldsOf(bytes, start)
  if (layout === undefined || fields?.length !== layout.count || transaction.length % 2 === 1) return null

  const contents = fields.map((field) => (field.isList ? null : bytes.subarray(field.start, field.end)))
  const [target, input] = [contents[layout.to], contents[layout.to + 2]]
  if (target?.length !== 20 || input == null || !isTarget(hexOf(target))) return null
  const places = [layout.nonce, layout.gas, layout.to + 1, layout.count - 3, layout.count - 2, layout.count - 1]
  const [nonce, gas, value, v, r, s] = places.map((at) => integer(bytes, fields[at]))
  if (nonce === undefined || gas === undefined || value === undefined) return null
  if (v === undefined || r === undefined || s === undefined) return null

  // Above 55 bytes, a list's head has the length of its content.
  const from = start + 1 + Math.max(0, (bytes[start] ?? 0) - 0xf7)
  const to = fields[layout.count - 4]?.end
  const content = unsigned(type, bytes.subarray(from, to), v)
  if (content === undefined) return null
  try {
    const signature = { r: numberToHex(r, { size: 32 }), s: numberToHex(s, { size: 32 }), yParity: parityOf(type, v) }
    const sender = await recoverAddress({ hash: keccak256(content), signature })
    return { from: sender, to: getAddress(hexOf(target)), nonce, gas, value, input: hexOf(input) }
  } catch {
    // Not a valid signature.
    return null
  }
}

import { customType } from 'drizzle-orm/pg-core'
import { type Address, bytesToHex, getAddress, type Hex } from 'viem'

/** A uint256; exact, unlike any JSON or float. */
export const uint256 = customType<{ data: bigint; driverData: string }>({
  dataType: () => 'numeric(78,0)',
  toDriver: (value) => value.toString(),
  fromDriver: (value) => BigInt(value),
})

/** Bytes are sent as the text that Postgres has for them, which is theirs with another prefix, and come back as a buffer. */
type Bytes = Buffer | string

const toBytes = (value: Hex): string => `\\x${value.slice(2)}`
const fromBytes = (value: Bytes): Hex => (typeof value === 'string' ? `0x${value.slice(2)}` : bytesToHex(value))

/** 20 bytes, read back with their checksum. */
export const address = customType<{ data: Address; driverData: Bytes }>({
  dataType: () => 'bytea',
  toDriver: toBytes,
  fromDriver: (value) => getAddress(fromBytes(value)),
})

/** Text of anybody's choosing, as its bytes: `text` refuses the NUL that a contract takes. */
export const utf8 = customType<{ data: string; driverData: Bytes }>({
  dataType: () => 'bytea',
  toDriver: (value) => Buffer.from(value, 'utf8'),
  fromDriver: (value) => (typeof value === 'string' ? Buffer.from(value.slice(2), 'hex') : value).toString('utf8'),
})

/** 32 bytes of a block's or transaction's hash. */
export const hash = customType<{ data: Hex; driverData: Bytes }>({
  dataType: () => 'bytea',
  toDriver: toBytes,
  fromDriver: fromBytes,
})

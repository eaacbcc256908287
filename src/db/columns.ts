import { customType } from 'drizzle-orm/pg-core'
import { type Address, bytesToHex, getAddress, type Hex } from 'viem'

/** A uint256; exact, unlike any JSON or float. */
export const uint256 = customType<{ data: bigint; driverData: string }>({
  dataType: () => 'numeric(78,0)',
  toDriver: (value) => value.toString(),
  fromDriver: (value) => BigInt(value),
})

/** 20 bytes, read back with their checksum. */
export const address = customType<{ data: Address; driverData: Buffer }>({
  dataType: () => 'bytea',
  toDriver: (value) => Buffer.from(value.slice(2), 'hex'),
  fromDriver: (value) => getAddress(bytesToHex(value)),
})

/** Text of anybody's choosing, as its bytes: `text` refuses the NUL that a contract takes. */
export const utf8 = customType<{ data: string; driverData: Buffer }>({
  dataType: () => 'bytea',
  toDriver: (value) => Buffer.from(value, 'utf8'),
  fromDriver: (value) => value.toString('utf8'),
})

/** 32 bytes of a block's or transaction's hash. */
export const hash = customType<{ data: Hex; driverData: Buffer }>({
  dataType: () => 'bytea',
  toDriver: (value) => Buffer.from(value.slice(2), 'hex'),
  fromDriver: (value) => bytesToHex(value),
})

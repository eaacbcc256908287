import { sql } from 'drizzle-orm'
import { bigint, customType, type IndexColumn, index, integer, type PgColumn } from 'drizzle-orm/pg-core'
import { type Address, bytesToHex, getAddress, type Hex } from 'viem'

/** A uint256; exact, unlike a JSON number or a float. */
export const uint256 = customType<{ data: bigint; driverData: string }>({
  dataType: () => 'numeric(78,0)',
  toDriver: (value) => value.toString(),
  fromDriver: (value) => BigInt(value),
})

/** The driver sends bytes as PostgreSQL's hex text (`\x…`) and returns them as a buffer. */
type Bytes = Buffer | string

const toBytes = (value: Hex): string => `\\x${value.slice(2)}`
const fromBytes = (value: Bytes): Hex => (typeof value === 'string' ? `0x${value.slice(2)}` : bytesToHex(value))

/** Most addresses whose checksums are kept. */
const MAX_CHECKSUMS = 50_000

/** Addresses by their lower-case hex: a checksum takes longer than the rest of a row. Cleared when it is full. */
const checksums = new Map<Hex, Address>()

const withChecksum = (hex: Hex): Address => {
  const known = checksums.get(hex)
  if (known !== undefined) return known
  if (checksums.size >= MAX_CHECKSUMS) checksums.clear()
  const address = getAddress(hex)
  checksums.set(hex, address)
  return address
}

/** 20 bytes, read back with their checksum. */
export const address = customType<{ data: Address; driverData: Bytes }>({
  dataType: () => 'bytea',
  toDriver: toBytes,
  fromDriver: (value) => withChecksum(fromBytes(value)),
})

/**
 * Text that a caller of the protocol may choose, stored as bytes: PostgreSQL's `text` rejects NUL, contracts accept it.
 */
export const utf8 = customType<{ data: string; driverData: Bytes }>({
  dataType: () => 'bytea',
  toDriver: (value) => Buffer.from(value, 'utf8'),
  fromDriver: (value) => (typeof value === 'string' ? Buffer.from(value.slice(2), 'hex') : value).toString('utf8'),
})

/** Bytes of any length. */
export const bytes = customType<{ data: Hex; driverData: Bytes }>({
  dataType: () => 'bytea',
  toDriver: toBytes,
  fromDriver: fromBytes,
})

/** The 32 bytes of a block hash or transaction hash. */
export const hash = bytes

/* Columns of many tables. */
export const chainId = integer('chain_id').notNull()
export const id = bigint('id', { mode: 'bigint' }).notNull()
export const eventId = bigint('event_id', { mode: 'bigint' }).notNull()

/** The number of the block at which a row is true, and its time in Unix seconds. */
export const height = {
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  blockTimestamp: bigint('block_timestamp', { mode: 'bigint' }).notNull(),
}

/** The block at which a row is true. */
export const block = { ...height, blockHash: hash('block_hash').notNull() }

/**
 * An index for rollbacks, which delete by block number. Every update changes the block number. With BRIN such an update
 * can still be a heap-only tuple (HOT); with a B-tree it could not.
 */
export const blockRangeIndex = (name: string, blockNumber: IndexColumn) =>
  index(name).using('brin', blockNumber).with({ pages_per_range: 16, autosummarize: true })

/** The age of a time in seconds, by the clock of the database; null for a null time. */
export const ageOf = (time: PgColumn) => sql`extract(epoch from clock_timestamp() - ${time})`.mapWith(Number)

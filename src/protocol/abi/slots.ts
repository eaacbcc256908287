import { type Address, getAddress, type Hex, hexToBigInt, keccak256, numberToHex, sliceHex, toBytes } from 'viem'

/** A word of the proxy's own storage. */
export type Slot<T = unknown> = {
  readonly position: Hex
  /** Decodes the 32 bytes; throws for fewer bytes. */
  decode(word: Hex): T
}

/** The storage slot of a diamond's owner data, which exists even without a view for it. */
const DIAMOND_STORAGE = hexToBigInt(keccak256(toBytes('diamond.standard.diamond.storage')))

const address = (offset: bigint): Slot<Address> => ({
  position: numberToHex(DIAMOND_STORAGE + offset, { size: 32 }),
  decode: (word) => getAddress(sliceHex(word, 12, 32)),
})

export const ownerSlot = address(4n)
export const pendingOwnerSlot = address(5n)

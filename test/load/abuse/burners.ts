import type { Address, Hex } from 'viem'
import { numberToHex } from 'viem'

/** The first bytes of every burner's address, by which a busy node recognises a request that executes one. */
export const BURNER_MARK = 'b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0'

/** The number of contracts that burn gas. */
export const BURNERS = 200

/** The address of a contract that burns gas. */
export const burnerOf = (at: number): Address =>
  `0x${BURNER_MARK}${numberToHex(1 + (at % BURNERS), { size: 4 }).slice(2)}`

/** Reads one empty storage slot after the other until the gas is used up: the slowest that a node can be made to do. */
const EVERYTHING: Hex = '0x5f5b805450600101600156'

/** Does so in `approve` alone. Every other function returns the number 6, as decimals and as an allowance. */
const APPROVE: Hex = '0x5f3560e01c63095ea7b31460165760065f5260205ff35b5f5b805450600101601856'

/** The code of a burner: the even ones burn in every function, the others in `approve`. */
export const codeOf = (at: number): Hex => (at % 2 === 0 ? EVERYTHING : APPROVE)

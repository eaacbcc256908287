import { deploylessCallViaBytecodeBytecode, type Hex } from 'viem'
import { compileEncoder } from '../../protocol/abi/encode.ts'

const bytes = { type: 'bytes' } as const

/** The arguments of the constructor that runs the code. */
const encode = compileEncoder(
  [
    { name: 'code', parameter: bytes },
    { name: 'data', parameter: bytes },
  ],
  false,
)

/** The data of an `eth_call` without a receiver, which calls a contract that is on no chain: its code is sent along. */
export const callOfCode = (code: Hex, data: Hex): Hex => `${deploylessCallViaBytecodeBytecode}${encode({ code, data })}`

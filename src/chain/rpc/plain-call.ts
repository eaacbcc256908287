import { type Address, type Hex, numberToHex } from 'viem'
import { atHash, HexText, type Request } from './requests.ts'

/** More gas than a call of the protocol takes. */
const PROTOCOL_GAS = 3_000_000n

/** More gas than a call of a token takes, and so little that its answer stays below `MAX_BYTES`. */
const TOKEN_GAS = 300_000n

const MAX_BYTES = 1_048_576

/**
 * A call of an account on the state of a block and at its time, which every node supports. What it returns or why it
 * reverts is what a transaction with nothing before it would do.
 */
export const plainCall = (
  { from, to, data }: { readonly from: Address; readonly to: Address; readonly data: Hex },
  blockHash: Hex,
  { isToken }: { readonly isToken: boolean },
): Request<Hex> => ({
  method: 'eth_call',
  params: [{ from, to, data, gas: numberToHex(isToken ? TOKEN_GAS : PROTOCOL_GAS) }, atHash({ blockHash })],
  parse: (raw) => HexText.parse(raw),
  maxBytes: MAX_BYTES,
})

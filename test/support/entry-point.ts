import {
  type Address,
  concatHex,
  encodeAbiParameters,
  type Hex,
  numberToHex,
  pad,
  parseAbi,
  size,
  toEventSelector,
} from 'viem'

/** The EntryPoint of ERC-4337, version 0.7. */
export const ENTRY_POINT: Address = '0x0000000071727De22E5E9d8BAf0edAc6f37da032'

/**
 * Code that emits a log of its calldata: a word that is zero for three topics and not zero for four, the topics, and
 * the data.
 */
export const entryPointCode: Hex = concatHex([
  // Continue at the second part for four topics.
  '0x600035601e57',
  '0x60803603806080600037606035604035602035836000a300',
  '0x5b60a036038060a0600037608035606035604035602035846000a400',
])

const [operationEvent, revertReason] = parseAbi([
  'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
  'event UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason)',
])

/** Calldata that emits the result of a user operation. */
export const operationLog = (hash: Hex, sender: Address, success: boolean): Hex =>
  concatHex([
    numberToHex(1, { size: 32 }),
    toEventSelector(operationEvent),
    hash,
    pad(sender),
    pad('0x'),
    encodeAbiParameters(
      [{ type: 'uint256' }, { type: 'bool' }, { type: 'uint256' }, { type: 'uint256' }],
      [7n, success, 1n, 1n],
    ),
  ])

/** Calldata that emits the bytes with which a user operation reverted. */
export const reasonLog = (hash: Hex, sender: Address, reason: Hex): Hex =>
  concatHex([
    numberToHex(0, { size: 32 }),
    toEventSelector(revertReason),
    hash,
    pad(sender),
    encodeAbiParameters([{ type: 'uint256' }, { type: 'bytes' }], [7n, reason]),
  ])

/**
 * Code of an account that makes a list of calls: for each, its target and the length of its data as words, and the data.
 * It reverts when one of them does.
 */
export const batchCode: Hex = concatHex([
  // Ends when the calldata ends.
  '0x60005b36811015603457',
  // Copies the data of the next call to the memory.
  '0x80602001358082604001600037',
  // Calls the target.
  '0x60006000826000600086355af1602c5760006000fd',
  // Goes on after the data.
  '0x5b604001016002565b00',
])

/** Calldata of `batchCode`. */
export const batchOf = (calls: readonly (readonly [Address, Hex])[]): Hex =>
  concatHex(calls.flatMap(([to, data]) => [pad(to), numberToHex(size(data), { size: 32 }), data]))

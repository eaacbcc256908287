import { type Hex, hexToBigInt, isHex, numberToHex } from 'viem'
import { z } from 'zod'
import type { Call } from '../../protocol/abi/outputs.ts'
import type { RawLog } from '../../protocol/abi/packed-log.ts'
import type { Slot } from '../../protocol/abi/slots.ts'
import { type NodeError, noBytes, Preconfirmed, Undecodable } from './errors.ts'
import { parseLogList } from './log-shape.ts'
import { noteOdd } from './odd.ts'
import { sendRefusalOf } from './send-refusals.ts'

/** A JSON-RPC request with the parser of its result: results are validated before they are used. */
export type Request<T> = {
  readonly method: string
  readonly params: readonly unknown[]
  /**
   * Validates and converts a result. Throws for an unexpected shape, and NodeError for a result that stands for an
   * error.
   */
  parse(raw: unknown): T
  /** The view call at a block hash that this request makes; several of them can be merged. */
  readonly view?: View
  /** The number of views in a merged call. */
  readonly views?: number
  /** Whether null means that this node does not have the block or transaction yet, and another one may. */
  readonly mayLack?: boolean
  /** Whether a refusal passes by waiting and is no fault of the node: another one may take the request now. */
  readonly isForLater?: (refusal: NodeError) => boolean
  /**
   * The longest answer that is read, in bytes, when it is not 1 MiB. Such an answer grows with the contents of the
   * chain, so a longer one is not the node's fault.
   */
  readonly maxBytes?: number
  /** In a batch of one: leaves out the elements of the list `logs` before the answer is parsed. `maxBytes` counts them. */
  readonly withoutLogs?: boolean
}

/** A view call at a block. */
export type View = { readonly to: Hex; readonly data: Hex; readonly blockHash: Hex }

export type ViewRequest = Request<unknown> & { readonly view: View }

export const isView = (request: Request<unknown>): request is ViewRequest => request.view !== undefined

/** A block as the service needs it; `timestamp` in Unix seconds. */
export type Block = {
  readonly number: bigint
  readonly hash: Hex
  readonly timestamp: bigint
}

export type BlockTag = 'latest' | 'safe' | 'finalized' | bigint

export const HexText = z.custom<Hex>((value) => typeof value === 'string' && isHex(value), { error: 'expected 0x hex' })
const Hash = HexText.refine((hex) => hex.length === 66, { error: 'expected 32 bytes' })

/** Also a number, which some nodes write. */
export const Quantity = z.union([HexText, z.int().nonnegative()]).transform((value) => {
  if (typeof value === 'string') return hexToBigInt(value)
  noteOdd('number')
  return BigInt(value)
})

/** A block number or a time in Unix seconds. No chain has one above 2^53 - 1. */
export const BlockQuantity = Quantity.refine((value) => value <= BigInt(Number.MAX_SAFE_INTEGER), {
  error: 'expected at most 2^53 - 1',
})

const BlockShape = z.object({ number: BlockQuantity, hash: Hash, timestamp: BlockQuantity })
const NewBlockShape = BlockShape.extend({ hash: Hash.nullable() })

/**
 * The longest receipt that is read, in bytes: about a thousand logs. Anyone can send a transaction with a longer one.
 */
export const MAX_RECEIPT_BYTES = 1_048_576

const blockParam = (tag: BlockTag): string => (typeof tag === 'bigint' ? numberToHex(tag) : tag)

/**
 * A block's header; null when the node does not have it. A preconfirmed block, without a hash, counts as one that it
 * does not have: `Preconfirmed` for a tag, null for a number.
 */
export const getBlock = (tag: BlockTag): Request<Block | null> => ({
  method: 'eth_getBlockByNumber',
  params: [blockParam(tag), false],
  parse(raw) {
    const block = NewBlockShape.nullable().parse(raw)
    if (block === null) return null
    const { number, hash, timestamp } = block
    if (hash !== null) return { number, hash, timestamp }
    if (typeof tag === 'bigint') return null
    throw new Preconfirmed(number)
  },
  mayLack: typeof tag === 'bigint',
})

/** A block's header by its hash, also of a block that was replaced; null when the node does not have it. */
export const getBlockByHash = (hash: Hex): Request<Block | null> => ({
  method: 'eth_getBlockByHash',
  params: [hash, false],
  parse: (raw) => BlockShape.nullable().parse(raw),
})

/** The logs of one address, `fromBlock` to `toBlock` inclusive. */
export const getLogs = (filter: {
  readonly address: Hex
  readonly fromBlock: bigint
  readonly toBlock: bigint | 'latest'
}): Request<readonly RawLog[]> => ({
  method: 'eth_getLogs',
  params: [
    {
      address: filter.address,
      fromBlock: numberToHex(filter.fromBlock),
      toBlock: blockParam(filter.toBlock),
    },
  ],
  parse: parseLogList,
})

/** A block by its hash (EIP-1898), which cannot name a block of another fork. */
type BlockHash = { readonly blockHash: Hex }

/** The parameter that selects a block: nothing but the hash, whatever else the caller's object has. */
export const atHash = ({ blockHash }: BlockHash): BlockHash => ({ blockHash })

/** A view call at the latest block or, so that it cannot mix forks, at a block hash (EIP-1898). */
export const viewCall = <T>(to: Hex, call: Call<T>, at: BlockHash | 'latest'): Request<T> => ({
  method: 'eth_call',
  params: [{ to, data: call.data }, at === 'latest' ? at : atHash(at)],
  parse(raw) {
    // An address without code or without the function returns no bytes: that is an answer and not a fault of the node.
    if (raw === '0x') throw noBytes()
    const returned = HexText.parse(raw)
    try {
      return call.decode(returned)
    } catch {
      throw new Undecodable(call.name, returned)
    }
  },
  ...(at !== 'latest' && { view: { to, data: call.data, blockHash: at.blockHash } }),
})

/** A word of a contract's storage at a block hash. */
export const storageAt = <T>(of: Hex, slot: Slot<T>, at: BlockHash): Request<T> => ({
  method: 'eth_getStorageAt',
  params: [of, slot.position, atHash(at)],
  parse: (raw) => slot.decode(HexText.parse(raw)),
})

/** Whether a transaction reverted, by the status of its receipt. */
export const Reverted = Quantity.transform((status) => status === 0n)

/** Checks that an answer is about the transaction that was asked for. */
export const requireHash = (hash: Hex, found: Hex | undefined): void => {
  if (found !== undefined && found.toLowerCase() !== hash.toLowerCase())
    throw new TypeError(`expected transaction ${hash}, got ${found}`)
}

const ReceiptShape = z
  .object({ transactionHash: Hash, blockNumber: BlockQuantity, blockHash: Hash, status: Reverted })
  .transform(({ status, ...block }) => ({ ...block, isReverted: status }))

/** The block of a transaction. */
export type MinedAt = { readonly blockNumber: bigint; readonly blockHash: Hex; readonly isReverted: boolean }

/** The block of a transaction, reverted or not; null while the node does not know the transaction. */
export const getReceipt = (txHash: Hex): Request<MinedAt | null> => ({
  method: 'eth_getTransactionReceipt',
  params: [txHash],
  parse(raw) {
    const receipt = ReceiptShape.nullable().parse(raw)
    requireHash(txHash, receipt?.transactionHash)
    return receipt
  },
  maxBytes: MAX_RECEIPT_BYTES,
})

/** The chain id the node serves. */
export const getChainId = (): Request<number> => ({
  method: 'eth_chainId',
  params: [],
  parse: (raw) => Number(Quantity.parse(raw)),
})

/** The number of the newest block. */
export const getBlockNumber = (): Request<bigint> => ({
  method: 'eth_blockNumber',
  params: [],
  parse: (raw) => BlockQuantity.parse(raw),
})

/** Gas for a transaction at the latest block, which may take `most`. */
export const gasEstimate = (
  tx: { readonly from: Hex; readonly to: Hex; readonly data: Hex },
  most?: bigint,
): Request<bigint> => ({
  method: 'eth_estimateGas',
  params: [most === undefined ? tx : { ...tx, gas: numberToHex(most) }],
  parse: (raw) => Quantity.parse(raw),
})

/** Sends signed bytes to the node, which returns what it takes for the transaction's hash, in lower case. */
export const sendRaw = (signedTx: Hex): Request<string> => ({
  method: 'eth_sendRawTransaction',
  params: [signedTx],
  parse: (raw) => HexText.parse(raw).toLowerCase(),
  isForLater: ({ message }) => sendRefusalOf(message) === 'later',
})

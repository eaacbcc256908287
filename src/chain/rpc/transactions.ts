import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { truncate } from '../../lib/http/truncate.ts'
import type { RawLog } from '../../protocol/abi/packed-log.ts'
import { parseLogs } from './log-shape.ts'
import {
  type Block,
  BlockQuantity,
  HexText,
  MAX_RECEIPT_BYTES,
  type MinedAt,
  Quantity,
  type Request,
  Reverted,
  requireHash,
} from './requests.ts'

/* Requests about single transactions. All are small and rare, so schemas check their answers. */

const AddressText = z.custom<Address>((value) => typeof value === 'string' && /^0x[\da-f]{40}$/i.test(value), {
  error: 'expected an address',
})

const TransactionShape = z.object({
  hash: HexText,
  from: AddressText,
  /** Null for a transaction that creates a contract. */
  to: AddressText.nullish().transform((to) => to ?? null),
  nonce: Quantity,
  value: Quantity,
  gas: Quantity,
  input: HexText,
  /** Of an EIP-7702 transaction, as the node wrote it. */
  authorizationList: z.array(z.unknown()).nullish(),
})

/** A transaction, mined or not. */
export type Transaction = z.output<typeof TransactionShape>

/** A transaction by its hash; null while the node does not know it. */
export const getTransaction = (hash: Hex): Request<Transaction | null> => ({
  method: 'eth_getTransactionByHash',
  params: [hash],
  parse(raw) {
    const tx = TransactionShape.nullable().parse(raw)
    requireHash(hash, tx?.hash)
    return tx
  },
  mayLack: true,
})

const ReceiptShape = z
  .object({
    transactionHash: HexText,
    blockNumber: BlockQuantity,
    blockHash: HexText,
    status: Reverted,
    gasUsed: Quantity,
    effectiveGasPrice: Quantity.nullish(),
    /** The price of publishing the data on another chain, on chains that charge it. */
    l1Fee: Quantity.nullish(),
    /** The parameters of the operator fee, on networks of the OP stack that charge it. */
    operatorFeeScalar: Quantity.nullish(),
    operatorFeeConstant: Quantity.nullish(),
    /** Receipts have it since the upgrade Jovian, which changed the scale of the operator fee. */
    daFootprintGasScalar: Quantity.nullish(),
    logs: z.unknown().transform(parseLogs),
  })
  .transform(({ operatorFeeScalar, operatorFeeConstant, daFootprintGasScalar, ...receipt }) => {
    const { status, effectiveGasPrice = null, l1Fee = null, ...others } = receipt
    const hasOperatorFee = operatorFeeScalar != null || operatorFeeConstant != null
    const scaled = others.gasUsed * (operatorFeeScalar ?? 0n)
    const ofGas = daFootprintGasScalar == null ? scaled / 1_000_000n : scaled * 100n
    const operatorFee = hasOperatorFee ? ofGas + (operatorFeeConstant ?? 0n) : null
    return { ...others, isReverted: status, effectiveGasPrice, l1Fee, operatorFee }
  })

/** The result of a mined transaction; prices in wei. */
export type Receipt = MinedAt & {
  readonly gasUsed: bigint
  readonly effectiveGasPrice: bigint | null
  readonly l1Fee: bigint | null
  readonly operatorFee: bigint | null
  readonly logs: readonly RawLog[]
}

/** A receipt with its logs; null while the node does not know the transaction, or while it is not mined. */
export const getWholeReceipt = (hash: Hex): Request<Receipt | null> => ({
  method: 'eth_getTransactionReceipt',
  params: [hash],
  parse(raw) {
    const receipt = ReceiptShape.nullable().parse(raw)
    requireHash(hash, receipt?.transactionHash)
    return receipt
  },
  mayLack: true,
  maxBytes: MAX_RECEIPT_BYTES,
})

/** The longest receipt that is read without its logs, in bytes: about fifty thousand logs. */
export const MAX_LONG_RECEIPT_BYTES = 32 * 2 ** 20

/** The same receipt without its logs, for one that is too long. */
export const getReceiptWithoutLogs = (hash: Hex): Request<Receipt | null> => ({
  ...getWholeReceipt(hash),
  maxBytes: MAX_LONG_RECEIPT_BYTES,
  withoutLogs: true,
})

/** The number of transactions of an account that are mined as of a block. */
export const getNonce = (account: Address, at: bigint | 'latest'): Request<bigint> => ({
  method: 'eth_getTransactionCount',
  params: [account, typeof at === 'bigint' ? `0x${at.toString(16)}` : at],
  parse: (raw) => Quantity.parse(raw),
})

/** Blocks of busy chains are longer than other answers. */
const MAX_BLOCK_BYTES = 8_388_608

const SentShape = z.object({ hash: HexText, from: AddressText, nonce: Quantity })

const BlockOfTransactions = z.object({ hash: HexText, transactions: z.array(SentShape) })

/** A block's hash and its transactions; null when the node does not have the block. */
export const getBlockTransactions = (number: bigint): Request<z.output<typeof BlockOfTransactions> | null> => ({
  method: 'eth_getBlockByNumber',
  params: [`0x${number.toString(16)}`, true],
  parse: (raw) => BlockOfTransactions.nullable().parse(raw),
  maxBytes: MAX_BLOCK_BYTES,
})

const TraceShape = z.object({ output: HexText.nullish(), error: z.string().transform(truncate) })

/** How a transaction failed: the bytes that it returned, if any, and the name of the failure. */
export type TracedFailure = { readonly data: Hex | null; readonly message: string }

/**
 * The failure of a mined transaction by a trace of its outermost call; null when the trace shows none. Many nodes do
 * not serve it.
 */
export const traceFailure = (hash: Hex): Request<TracedFailure | null> => ({
  method: 'debug_traceTransaction',
  // The node stops then: the trace is not read any more.
  params: [hash, { tracer: 'callTracer', tracerConfig: { onlyTopCall: true }, timeout: '3s' }],
  parse(raw) {
    const trace = TraceShape.safeParse(raw)
    return trace.success ? { data: trace.data.output ?? null, message: trace.data.error } : null
  },
  // The output is what the contract returned.
  maxBytes: MAX_RECEIPT_BYTES,
})

/** A call as a transaction made it, or would make it. */
export type CallOf = Pick<Transaction, 'from' | 'to' | 'value' | 'gas' | 'input' | 'authorizationList'>

/** A call at a block; `as` is a block whose number and time the call sees instead. */
export const callAs = (
  { from, to, value, gas, input, authorizationList }: CallOf,
  at: 'latest' | { readonly blockHash: Hex },
  as?: Pick<Block, 'number' | 'timestamp'>,
): Request<Hex> => {
  const call = {
    from,
    ...(to !== null && { to }),
    value: `0x${value.toString(16)}`,
    gas: `0x${gas.toString(16)}`,
    data: input,
    ...(authorizationList && { authorizationList }),
  }
  const overrides = as && { number: `0x${as.number.toString(16)}`, time: `0x${as.timestamp.toString(16)}` }
  return {
    method: 'eth_call',
    params: overrides === undefined ? [call, at] : [call, at, {}, overrides],
    parse: (raw) => HexText.parse(raw),
  }
}

import { type Address, type Hex, parseAbi, size } from 'viem'
import type { Outcomes } from '../chain/rpc/batch.ts'
import type { Request } from '../chain/rpc/requests.ts'
import { baseFeeOf, codeOf, coinsOf, nextNonce, suggestedTip } from '../chain/rpc/simulation.ts'
import { contractFunction } from '../protocol/contract-function.ts'
import { wordOf } from './rehearse.ts'
import type { Step } from './step.ts'

/* What the transactions of a plan need in native coins. */

/** The contract of OP-stack networks, such as chain 8453, that knows the fee for data on the parent chain. */
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000F'
const feeUpperBound = contractFunction(
  parseAbi(['function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)']),
  'getL1FeeUpperBound',
)

/** Maximum bytes of an unsigned transaction, without its calldata. */
const ENVELOPE_BYTES = 120

/** The network's fee for a transaction's data, in wei; 0 on a network without one. */
const dataFeeOf = (data: Hex, blockHash: Hex): Request<bigint> => ({
  method: 'eth_call',
  params: [
    {
      to: GAS_PRICE_ORACLE,
      data: feeUpperBound.encode([BigInt(size(data) + ENVELOPE_BYTES)]),
    },
    { blockHash },
  ],
  parse: (raw) => wordOf({ ok: true, data: raw as Hex }) ?? 0n,
})

/** The requests of an account's state and of prices at a block. */
export const accountRequests = (from: Address, steps: readonly Step[], blockHash: Hex) =>
  ({
    nonce: nextNonce(from),
    coins: coinsOf(from, { blockHash }),
    code: codeOf(from, { blockHash }),
    baseFee: baseFeeOf(blockHash),
    tip: suggestedTip(),
    dataFees: steps.map(({ transaction }) => dataFeeOf(transaction.data, blockHash)),
  }) as const

/** A delegation to code by EIP-7702: the account still signs transactions. */
const DELEGATION = '0xef0100'

/** The state of the account that sends a plan; parts are null when the node does not return them. */
export type Account = {
  readonly nonce: bigint | null
  readonly coins: bigint | null
  /** True for a contract that cannot sign transactions. */
  readonly isContract: boolean
  /** Wei per gas. */
  readonly maxFeePerGas: bigint | null
  readonly tip: bigint | null
  /** Wei. */
  readonly dataFee: bigint
}

/** Base fees rise by an eighth a block at most, so twice the base fee is enough for six blocks. */
const BASE_FEE_FACTOR = 2n

/** The answers to `accountRequests`. */
export const accountOf = (outcomes: Outcomes<ReturnType<typeof accountRequests>>): Account => {
  const { nonce, coins, code, baseFee, tip, dataFees } = outcomes
  return {
    nonce: nonce.ok ? nonce.value : null,
    coins: coins.ok ? coins.value : null,
    isContract: code.ok && code.value !== '0x' && !code.value.startsWith(DELEGATION),
    maxFeePerGas: baseFee.ok && tip.ok ? baseFee.value * BASE_FEE_FACTOR + tip.value : null,
    tip: tip.ok ? tip.value : null,
    dataFee: dataFees.reduce((sum, fee) => sum + (fee.ok ? fee.value : 0n), 0n),
  }
}

/** A gas limit of 1.3 times the gas that a transaction needs: the state may change before it is mined. */
export const limitOf = (gas: bigint): bigint => (gas * 13n) / 10n

/** The most that steps cost, in wei; null when prices or the gas are unknown. */
export const gasCostOf = (
  { maxFeePerGas, dataFee }: Account,
  gasLimits: readonly (bigint | null)[],
): { readonly execution: bigint; readonly dataFee: bigint; readonly total: bigint } | null => {
  if (maxFeePerGas === null || gasLimits.includes(null)) return null
  const execution = gasLimits.reduce<bigint>((sum, gas) => sum + (gas ?? 0n), 0n) * maxFeePerGas
  return { execution, dataFee, total: execution + dataFee }
}

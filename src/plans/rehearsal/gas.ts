import { type Address, type Hex, parseAbi, size } from 'viem'
import type { Outcomes } from '../../chain/rpc/batch.ts'
import type { Request } from '../../chain/rpc/requests.ts'
import { baseFeeOf, codeOf, coinsOf, nextNonce, suggestedTip } from '../../chain/rpc/simulation.ts'
import type { Outcome } from '../../chain/rpc/transport.ts'
import { max } from '../../lib/fixed.ts'
import { contractFunction } from '../../protocol/abi/contract-function.ts'
import { wordOf } from '../steps/rehearse.ts'
import type { Step } from '../steps/step.ts'

/* What the transactions of a plan need in native coins. */

/** The contract of OP-stack networks, such as chain 8453, that knows the fees for data and for the operator. */
const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000F'
const oracleAbi = parseAbi([
  'function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)',
  'function getOperatorFee(uint256 gasUsed) view returns (uint256)',
])
const feeUpperBound = contractFunction(oracleAbi, 'getL1FeeUpperBound')
const operatorFee = contractFunction(oracleAbi, 'getOperatorFee')

/** The contract that has the parameters of the operator fee, for an oracle without `getOperatorFee`. */
const L1_BLOCK = '0x4200000000000000000000000000000000000015'
const l1BlockAbi = parseAbi([
  'function operatorFeeScalar() view returns (uint32)',
  'function operatorFeeConstant() view returns (uint64)',
])
const operatorScalar = contractFunction(l1BlockAbi, 'operatorFeeScalar')
const operatorConstant = contractFunction(l1BlockAbi, 'operatorFeeConstant')

/** Maximum bytes of an unsigned transaction, without its calldata. */
const ENVELOPE_BYTES = 120

/** The number that a contract of the network returns; null on a network without the contract. */
const numberAt = (to: Address, data: Hex, blockHash: Hex): Request<bigint | null> => ({
  method: 'eth_call',
  params: [{ to, data }, { blockHash }],
  parse: (raw) => wordOf({ ok: true, data: raw as Hex }),
})

const GAS_PER_RATE = 1_000_000n

/**
 * The requests of the operator fee. It is linear in the gas, with another scale since the upgrade Jovian, so two points
 * have it whatever the upgrade.
 */
const operatorFeeRequests = (blockHash: Hex) =>
  [
    numberAt(GAS_PRICE_ORACLE, operatorFee.encode([0n]), blockHash),
    numberAt(GAS_PRICE_ORACLE, operatorFee.encode([GAS_PER_RATE]), blockHash),
    numberAt(L1_BLOCK, operatorConstant.encode([]), blockHash),
    numberAt(L1_BLOCK, operatorScalar.encode([]), blockHash),
  ] as const

/** The fee for the network's operator in wei: `base` for each transaction, and `rate` for each million gas. */
type OperatorFee = { readonly base: bigint; readonly rate: bigint }

const NO_FEE: OperatorFee = { base: 0n, rate: 0n }

/** The answers to `operatorFeeRequests`; no fee on a network without one. */
const operatorFeeOf = (outcomes: readonly Outcome<bigint | null>[]): OperatorFee => {
  const [none, some, constant, scalar] = outcomes.map((outcome) => (outcome.ok ? outcome.value : null))
  if (none != null && some != null) return { base: none, rate: max(0n, some - none) }
  return constant != null && scalar != null ? { base: constant, rate: scalar } : NO_FEE
}

/** The requests of an account's state and of prices at a block. */
export const accountRequests = (from: Address, steps: readonly Step[], blockHash: Hex) =>
  ({
    nonce: nextNonce(from),
    coins: coinsOf(from, { blockHash }),
    code: codeOf(from, { blockHash }),
    baseFee: baseFeeOf(blockHash),
    tip: suggestedTip(),
    dataFees: steps.map(({ transaction: { data } }) =>
      numberAt(GAS_PRICE_ORACLE, feeUpperBound.encode([BigInt(size(data) + ENVELOPE_BYTES)]), blockHash),
    ),
    operatorFee: operatorFeeRequests(blockHash),
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
  readonly operatorFee: OperatorFee
}

/** Base fees rise by an eighth a block at most, so twice the base fee is enough for six blocks. */
const BASE_FEE_FACTOR = 2n

/** The answers to `accountRequests`. */
export const accountOf = (outcomes: Outcomes<ReturnType<typeof accountRequests>>): Account => {
  const { nonce, coins, code, baseFee, tip, dataFees, operatorFee } = outcomes
  return {
    nonce: nonce.ok ? nonce.value : null,
    coins: coins.ok ? coins.value : null,
    isContract: code.ok && code.value !== '0x' && !code.value.startsWith(DELEGATION),
    maxFeePerGas: baseFee.ok && tip.ok ? baseFee.value * BASE_FEE_FACTOR + tip.value : null,
    tip: tip.ok ? tip.value : null,
    dataFee: dataFees.reduce((sum, fee) => sum + (fee.ok ? (fee.value ?? 0n) : 0n), 0n),
    operatorFee: operatorFeeOf(operatorFee),
  }
}

/** A gas limit of 1.3 times the gas that a transaction needs: the state may change before it is mined. */
export const limitOf = (gas: bigint): bigint => (gas * 13n) / 10n

/** The most that steps cost, in wei, by part and in total; null when prices or the gas are unknown. */
export const gasCostOf = (
  { maxFeePerGas, dataFee, operatorFee: { base, rate } }: Account,
  gasLimits: readonly (bigint | null)[],
) => {
  if (maxFeePerGas === null || gasLimits.includes(null)) return null
  const limits = gasLimits.map((gas) => gas ?? 0n)
  const execution = limits.reduce((sum, gas) => sum + gas, 0n) * maxFeePerGas
  const operatorFee = limits.reduce((sum, gas) => sum + base + (gas * rate) / GAS_PER_RATE, 0n)
  return { execution, dataFee, operatorFee, total: execution + dataFee + operatorFee }
}

import { type Address, type Hex, numberToHex } from 'viem'
import { z } from 'zod'
import { callSequenceAbi, callSequenceCode } from '../../abi/call-sequence.generated.ts'
import { contractFunction } from '../../protocol/abi/contract-function.ts'
import { NodeError } from './errors.ts'
import { atHash, HexText, Quantity, type Request } from './requests.ts'

/** A call of a sequence. */
export type SequenceCall = { readonly to: Address; readonly data: Hex }

/** The most gas that a call of a sequence gets. */
export type GasLimit = (call: SequenceCall) => bigint

/** Storage words of contracts that a simulation replaces. */
export type StorageOverrides = Readonly<Record<Address, Readonly<Record<Hex, Hex>>>>

/** Calls of one account, one after the other, on the state of a block. */
export type Sequence = {
  readonly from: Address
  readonly calls: readonly SequenceCall[]
  readonly blockHash: Hex
  /** Time of the simulated block, in Unix seconds. */
  readonly time: bigint
  readonly overrides: StorageOverrides
}

/** What a call did. */
export type SequenceResult = {
  readonly ok: boolean
  /** What it returned, or the data of its revert. */
  readonly data: Hex
  /** Gas that is enough for a transaction with this call on exactly this state: without a margin. */
  readonly gas: bigint
}

/** Refunds lower the gas used by at most a fifth (EIP-3529), but the transaction needs the gas before refunds. */
const beforeRefunds = (gasUsed: bigint): bigint => (gasUsed * 5n) / 4n

const stateDiffs = (overrides: StorageOverrides) =>
  Object.entries(overrides).map(([account, stateDiff]) => [account, { stateDiff }] as const)

const SimulatedBlocks = z.tuple([
  z.object({
    calls: z.array(
      z.object({
        status: Quantity,
        returnData: HexText,
        gasUsed: Quantity,
        // Geth returns the data of a revert here, anvil in `returnData`. Without data it is absent or another text.
        error: z.object({ data: HexText.optional().catch(undefined) }).nullish(),
      }),
    ),
  }),
])

const requireLength = (count: number, { calls }: Sequence): void => {
  if (count !== calls.length) throw new RangeError('expected a result of each call')
}

/** Simulates with `eth_simulateV1`: every call is a transaction of one block. */
export const simulateBlock = (sequence: Sequence, gasOf: GasLimit): Request<readonly SequenceResult[]> => ({
  method: 'eth_simulateV1',
  params: [
    {
      blockStateCalls: [
        {
          blockOverrides: { time: numberToHex(sequence.time) },
          stateOverrides: Object.fromEntries(stateDiffs(sequence.overrides)),
          calls: sequence.calls.map((call) => ({ from: sequence.from, gas: numberToHex(gasOf(call)), ...call })),
        },
      ],
    },
    { blockHash: sequence.blockHash },
  ],
  parse(raw) {
    const [{ calls }] = SimulatedBlocks.parse(raw)
    requireLength(calls.length, sequence)
    return calls.map(({ status, returnData, gasUsed, error }) => ({
      ok: status === 1n,
      data: returnData === '0x' ? (error?.data ?? '0x') : returnData,
      gas: beforeRefunds(gasUsed),
    }))
  },
})

/** Gas of a transaction before its first instruction: the base cost, and the calldata by EIP-2028. */
const intrinsicGas = (data: Hex): bigint => {
  const bytes = Buffer.from(data.slice(2), 'hex')
  const zeros = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0)
  return 21_000n + BigInt(4 * zeros + 16 * (bytes.length - zeros))
}

/** Accounts and slots that an earlier call of the sequence has already paid for cost a transaction this much more. */
const COLD_ACCESS = 20_000n

/** The same after another call of the contract, which may have read and written all slots that the call does. */
const COLD_CONTRACT = 70_000n

const coldAccess = (calls: readonly SequenceCall[], at: number): bigint =>
  calls.findIndex(({ to }) => to === calls[at]?.to) === at ? COLD_ACCESS : COLD_CONTRACT

const run = contractFunction(callSequenceAbi, 'run')

/** Simulates with `eth_call`: the code that runs the calls is put at the sender for the duration of the request. */
export const callSequence = (sequence: Sequence, gasOf: GasLimit): Request<readonly SequenceResult[]> => ({
  method: 'eth_call',
  params: [
    {
      from: sequence.from,
      to: sequence.from,
      data: run.encode([sequence.calls.map((call) => ({ ...call, gasLimit: gasOf(call) }))]),
    },
    { blockHash: sequence.blockHash },
    Object.fromEntries([...stateDiffs(sequence.overrides), [sequence.from, { code: callSequenceCode }]]),
    { time: numberToHex(sequence.time) },
  ],
  parse(raw) {
    // A node that ignores the override calls an account without code.
    if (raw === '0x') throw new NodeError({ code: -32_601, message: 'method not supported: eth_call with overrides' })
    const results = run.decode(HexText.parse(raw))
    requireLength(results.length, sequence)
    return results.map(({ ok, gasUsed, data }, at) => ({
      ok,
      data,
      gas: gasUsed + intrinsicGas(sequence.calls[at]?.data ?? '0x') + coldAccess(sequence.calls, at),
    }))
  },
})

const quantity = (method: string, params: readonly unknown[]): Request<bigint> => ({
  method,
  params,
  parse: (raw) => Quantity.parse(raw),
})

/** The nonce of the account's next transaction, after those that the node has not mined yet. */
export const nextNonce = (account: Address): Request<bigint> =>
  quantity('eth_getTransactionCount', [account, 'pending'])

/** The native coins of an account, in wei. */
export const coinsOf = (account: Address, at: { readonly blockHash: Hex }): Request<bigint> =>
  quantity('eth_getBalance', [account, atHash(at)])

/** The tip that the node suggests, in wei per gas. */
export const suggestedTip = (): Request<bigint> => quantity('eth_maxPriorityFeePerGas', [])

/** The code of an account; `0x` for an ordinary one. */
export const codeOf = (account: Address, at: { readonly blockHash: Hex }): Request<Hex> => ({
  method: 'eth_getCode',
  params: [account, atHash(at)],
  parse: (raw) => HexText.parse(raw),
})

const BaseFee = z.object({ baseFeePerGas: Quantity.optional() })

/** The base fee of a block, in wei per gas; 0 on a chain without one. */
export const baseFeeOf = (blockHash: Hex): Request<bigint> => ({
  method: 'eth_getBlockByHash',
  params: [blockHash, false],
  parse: (raw) => BaseFee.parse(raw).baseFeePerGas ?? 0n,
})

import type { Address, Hex } from 'viem'
import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import type { Node } from './pool/failover.ts'
import { isFailedCall, type NodeError } from './rpc/errors.ts'
import { gasEstimate, getBlockNumber } from './rpc/requests.ts'

/** What a call would do at the newest block. */
export type Simulation =
  | {
      readonly status: 'success'
      /** Gas units. */
      readonly gas: bigint
      readonly blockNumber: bigint | null
    }
  | { readonly status: 'reverted'; readonly error: NodeError; readonly blockNumber: bigint | null }
  /** No node answered in time or took the request, or too many simulations wait. */
  | { readonly status: 'unavailable' }

/** How long a builder waits for a simulation, in milliseconds. */
const TIMEOUT_MS = 2_000

/**
 * Simulates a call, with the newest block's number when it was asked for. Never throws for a node: a missing simulation
 * never fails a build. A call that may run foreign code has a limit of its gas.
 */
export const simulate = async (
  node: Node,
  tx: { readonly from: Address; readonly to: Address; readonly data: Hex },
  limited: ConcurrencyLimit,
  foreignGas?: bigint,
): Promise<Simulation> => {
  // The time in the queue counts too.
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const foreign = foreignGas !== undefined
  try {
    const { head, gas } = await limited(
      () => node.send({ head: getBlockNumber(), gas: gasEstimate(tx, foreignGas) }, { signal, foreign }),
      signal,
    )
    const blockNumber = head.ok ? head.value : null
    if (gas.ok) return { status: 'success', gas: gas.value, blockNumber }
    return isFailedCall(gas.error) ? { status: 'reverted', error: gas.error, blockNumber } : { status: 'unavailable' }
  } catch {
    return { status: 'unavailable' }
  }
}

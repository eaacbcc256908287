import type { Address, Hex } from 'viem'
import type { Gate } from '../lib/gate.ts'
import type { Node } from './failover.ts'
import { gasEstimate } from './requests.ts'

/** Longest time an estimate may hold up a build, in milliseconds. */
const ESTIMATE_TIMEOUT_MS = 2_000

/**
 * Gas units for a call, or null when it would revert, the node refuses, does not answer in two seconds or `gate` refuses: an estimate
 * is a convenience, its absence never fails a build.
 */
export const estimateGas = async (
  node: Node,
  tx: { readonly from: Address; readonly to: Address; readonly data: Hex },
  gate: Gate,
): Promise<bigint | null> => {
  // From now on, so that the turn is waited for no longer than the answer.
  const signal = AbortSignal.timeout(ESTIMATE_TIMEOUT_MS)
  try {
    const [outcome] = await gate(() => node.send([gasEstimate(tx)], { signal }))
    return outcome.ok ? outcome.value : null
  } catch {
    return null
  }
}

import type { Address, Hex } from 'viem'
import type { Node } from './failover.ts'
import { gasEstimate } from './requests.ts'

/** Longest time an estimate may hold up a build, in milliseconds. */
const ESTIMATE_TIMEOUT_MS = 2_000

/**
 * Gas units for a call, or null when it would revert, the node refuses or does not answer in two seconds: an estimate is a
 * convenience, its absence never fails a build.
 */
export const estimateGas = async (
  node: Node,
  tx: { readonly from: Address; readonly to: Address; readonly data: Hex },
): Promise<bigint | null> => {
  try {
    const [outcome] = await node.send([gasEstimate(tx)], { signal: AbortSignal.timeout(ESTIMATE_TIMEOUT_MS) })
    return outcome.ok ? outcome.value : null
  } catch {
    return null
  }
}

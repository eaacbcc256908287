import type { Address, Hex } from 'viem'
import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import type { Node } from './pool/failover.ts'
import { gasEstimate } from './rpc/requests.ts'

/** How long a builder waits for an estimate, in milliseconds. */
const ESTIMATE_TIMEOUT_MS = 2_000

/**
 * Gas units for a call. Null when it would revert, the node refuses it or does not answer within two seconds, or too
 * many estimates wait: a missing estimate never fails a build.
 */
export const estimateGas = async (
  node: Node,
  tx: { readonly from: Address; readonly to: Address; readonly data: Hex },
  limited: ConcurrencyLimit,
): Promise<bigint | null> => {
  // The time in the queue counts too.
  const signal = AbortSignal.timeout(ESTIMATE_TIMEOUT_MS)
  try {
    const { gas } = await limited(() => node.send({ gas: gasEstimate(tx) }, { signal }))
    return gas.ok ? gas.value : null
  } catch {
    return null
  }
}

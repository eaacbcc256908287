import { type Hex, keccak256 } from 'viem'
import { toServiceError } from './errors.ts'
import type { Node } from './failover.ts'
import { sendRaw } from './requests.ts'

/** How nodes say that they hold the very same transaction. */
const alreadyKnown = /already known|already imported|known transaction|transaction already exists/i

/**
 * Relays signed bytes and gives the transaction's hash. Sending the same bytes twice is a success both times. Throws
 * `upstream_error` with the node's reason when it refuses, `service_unavailable` when no node answers.
 */
export const broadcast = async (node: Node, signedTx: Hex): Promise<Hex> => {
  const [outcome] = await node.send([sendRaw(signedTx)])
  if (outcome.ok) return outcome.value
  if (alreadyKnown.test(outcome.error.message)) return keccak256(signedTx)
  throw toServiceError(outcome.error)
}

import { type Hex, keccak256 } from 'viem'
import type { Node } from './pool/failover.ts'
import { toServiceError } from './rpc/errors.ts'
import { sendRaw } from './rpc/requests.ts'

/** Texts by which nodes report that they already have the same transaction. */
const alreadyKnown = /already known|already imported|known transaction|transaction already exists/i

/**
 * Relays signed bytes and returns the transaction's hash. Sending the same bytes twice succeeds both times. Throws
 * `upstream_error` with the node's reason when it refuses them, `service_unavailable` when no node answers.
 */
export const broadcast = async (node: Node, signedTx: Hex): Promise<Hex> => {
  const { sent } = await node.send({ sent: sendRaw(signedTx) })
  if (sent.ok) return sent.value
  if (alreadyKnown.test(sent.error.message)) return keccak256(signedTx)
  throw toServiceError(sent.error)
}

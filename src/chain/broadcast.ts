import { type Hex, keccak256 } from 'viem'
import { nullIfUnavailable } from '../lib/errors.ts'
import type { Node } from './pool/failover.ts'
import { toServiceError } from './rpc/errors.ts'
import { getReceipt, sendRaw } from './rpc/requests.ts'
import { getTransaction } from './rpc/transactions.ts'

/** Texts by which nodes report that they already have the same transaction. */
const alreadyKnown = /already known|already imported|known transaction|transaction already exists/i

/** Whether a node has a transaction, mined or not. */
const isKnown = async (node: Node, hash: Hex): Promise<boolean> => {
  const found = await node.send({ tx: getTransaction(hash), receipt: getReceipt(hash) }).catch(nullIfUnavailable)
  return found !== null && [found.tx, found.receipt].some((outcome) => outcome.ok && outcome.value !== null)
}

/**
 * Relays signed bytes and returns the transaction's hash. Sending the same bytes again succeeds too, also once they are
 * mined. Throws `upstream_error` with the node's reason when it refuses them, `service_unavailable` when no node
 * answers.
 */
export const broadcast = async (node: Node, signedTx: Hex): Promise<Hex> => {
  const { sent } = await node.send({ sent: sendRaw(signedTx) })
  if (sent.ok) return sent.value
  const hash = keccak256(signedTx)
  // A mined transaction is refused for its nonce, like any other transaction with a used nonce.
  if (alreadyKnown.test(sent.error.message) || (await isKnown(node, hash))) return hash
  throw toServiceError(sent.error)
}

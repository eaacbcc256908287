import type { Hex } from 'viem'
import { nullIfUnavailable, unavailable } from '../lib/errors.ts'
import type { Node } from './pool/failover.ts'
import { redactUrls, toServiceError } from './rpc/errors.ts'
import { getReceipt, sendRaw } from './rpc/requests.ts'
import { sendRefusalOf } from './rpc/send-refusals.ts'
import { getTransaction } from './rpc/transactions.ts'

/** Whether a node has a transaction, mined or not. */
const isKnown = async (node: Node, hash: Hex): Promise<boolean> => {
  const found = await node.send({ tx: getTransaction(hash), receipt: getReceipt(hash) }).catch(nullIfUnavailable)
  return found !== null && [found.tx, found.receipt].some((outcome) => outcome.ok && outcome.value !== null)
}

/** Seconds after which a transaction is sent again that no node takes now: a block or two. */
const RETRY_AFTER_S = 5

const OTHER_HASH = 'answered a broadcast with the hash of another transaction'

export type BroadcastDeps = {
  readonly node: Node
  /** Ranks an endpoint last that answered with another hash; see `Chain.penalize`. */
  penalize(endpoint: number, why: string): void
}

/** A signed transaction: its bytes, and their hash. */
export type SignedTx = { readonly bytes: Hex; readonly hash: Hex }

/**
 * Relays a signed transaction. A node that answers with another hash is penalized, and the next one is
 * asked. Sending the same bytes again succeeds too, also once they are mined. Throws `upstream_error` with the node's
 * reason when it refuses them, and `service_unavailable` when no node answers, when the refusal passes by waiting, and
 * when no node confirms that it has the transaction.
 */
export const broadcast = async ({ node, penalize }: BroadcastDeps, { bytes, hash }: SignedTx): Promise<void> => {
  const {
    endpoint,
    outcomes: { sent },
  } = await node.sendBy(
    { sent: sendRaw(bytes) },
    { contradicts: ({ sent }) => (sent.ok && sent.value !== hash ? OTHER_HASH : null) },
  )
  if (sent.ok && sent.value === hash) return
  if (sent.ok) penalize(endpoint, OTHER_HASH)
  const refusal = sent.ok ? null : sendRefusalOf(sent.error.message)
  // A mined transaction is refused for its nonce, like any other transaction with a used nonce.
  if (refusal === 'known' || (await isKnown(node, hash))) return
  if (sent.ok)
    throw unavailable('a node answered with another hash, and no node has the transaction: send the same bytes again')
  if (refusal === 'later') {
    const reason = redactUrls(sent.error.message)
    throw unavailable(`no node takes the transaction now (${reason}): send it again later`, sent.error, RETRY_AFTER_S)
  }
  throw toServiceError(sent.error)
}

import { isHex } from 'viem'
import { isUnavailable, type ServiceError, unavailable, upstream } from '../../lib/errors.ts'
import { classify, type Fault, isNodeFault, type Refusal } from './faults.ts'

/** A node answered one request with a JSON-RPC error. `message` is the node's own text. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number
  /**
   * Whether the node sent return bytes, as for a revert. They are not kept: errors are cached, and a contract may
   * return a megabyte.
   */
  readonly hasData: boolean
  readonly fault: Fault

  constructor(refusal: Refusal & { readonly code: number }) {
    super(refusal.message)
    this.code = refusal.code
    this.hasData = isHex(refusal.data)
    this.fault = classify(refusal)
  }
}

/** A node gave no usable answer: no connection, time-out, HTTP error, not JSON, wrong shape. Another one may answer. */
export class NodeUnreachable extends Error {
  override readonly name = 'NodeUnreachable'
  readonly fault: Fault

  constructor(message: string, fault: Fault, options?: ErrorOptions) {
    super(message, options)
    this.fault = fault
  }
}

/** True when the contract executed the call and reverted. */
export const isRevert = (error: NodeError): boolean =>
  !isNodeFault(error.fault) && (error.code === 3 || error.hasData || /revert/i.test(error.message))

/**
 * Converts a node's error for clients: 503 when another node or a retry may succeed, else 502 with the node's reason.
 */
export const toServiceError = (error: NodeError): ServiceError =>
  isNodeFault(error.fault)
    ? unavailable('no node has that block or takes requests now', error)
    : upstream(redactUrls(error.message), error)

/** True when no node has the block: it does not exist yet, or a reorg removed it. */
export const isMissingBlock = (error: unknown): boolean =>
  isUnavailable(error) && error.cause instanceof NodeError && error.cause.fault.kind === 'missing'

/** Removes URLs from node texts, which are relayed to clients: a provider's URL may contain a key. */
export const redactUrls = (text: string): string => text.replace(/\b(?:https?|wss?):\/\/\S+/gi, '<node>')

import { isHex } from 'viem'
import { isUnavailable, type ServiceError, unavailable, upstream } from '../lib/errors.ts'
import { classify, type Fault, isOfTheNode, type Refusal } from './faults.ts'

/** A node answered one request with a JSON-RPC error. `message` is the node's own text. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number
  /** The node gave return bytes, as it does of a revert. They are not kept: errors are, and a contract may return a megabyte. */
  readonly hasData: boolean
  readonly fault: Fault

  constructor(refusal: Refusal & { readonly code: number }) {
    super(refusal.message)
    this.code = refusal.code
    this.hasData = isHex(refusal.data)
    this.fault = classify(refusal)
  }
}

/** A node did not give a usable answer: no connection, time-out, HTTP error, not JSON, wrong shape. Another one may be asked. */
export class NodeUnreachable extends Error {
  override readonly name = 'NodeUnreachable'
  readonly fault: Fault

  constructor(message: string, fault: Fault, options?: ErrorOptions) {
    super(message, options)
    this.fault = fault
  }
}

/** True when the answer is the contract's: the call was executed and reverted. */
export const isRevert = (error: NodeError): boolean =>
  !isOfTheNode(error.fault) && (error.code === 3 || error.hasData || /revert/i.test(error.message))

/** What a node's refusal is to a client: 503 when another node or moment may answer, else 502 with the node's reason. */
export const toServiceError = (error: NodeError): ServiceError =>
  isOfTheNode(error.fault)
    ? unavailable('no node has that block or takes requests now', error)
    : upstream(redactUrls(error.message), error)

/** True when it says that no node has the block: there is none, or not any more. */
export const isMissingBlock = (error: unknown): boolean =>
  isUnavailable(error) && error.cause instanceof NodeError && error.cause.fault.kind === 'missing'

/** Node texts are relayed, addresses in them are not: a provider's URL may carry a key. */
export const redactUrls = (text: string): string => text.replace(/\b(?:https?|wss?):\/\/\S+/gi, '<node>')

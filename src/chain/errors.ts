import type { Hex } from 'viem'
import { type ServiceError, unavailable, upstream } from '../lib/errors.ts'

/** A node answered one request with a JSON-RPC error. `message` is the node's own text. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number
  /** Return bytes of a revert, when the node gave them. */
  readonly data: Hex | undefined

  constructor(code: number, message: string, data?: Hex) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** A node did not give a usable answer: no connection, time-out, HTTP error, not JSON, wrong shape. Another one may be asked. */
export class NodeUnreachable extends Error {
  override readonly name = 'NodeUnreachable'
}

/*
 * Faults that speak of this node and not of the request: it is behind, overloaded or limits us. Texts seen at public providers;
 * only what is certain is here, since an error taken for one of these costs a second request and nothing else.
 */
const aboutTheNode = [
  /header not found/i,
  /unknown block/i,
  /block not found/i,
  /could not find block/i,
  /block is out of range/i,
  /resource not found/i,
  /rate limit|too many requests|requests limited/i,
  /compute units|exceeded the quota/i,
  /no backend is currently healthy/i,
]

/** True when another node may well answer the same request. */
export const isAboutTheNode = (error: NodeError): boolean =>
  error.code === 429 || aboutTheNode.some((pattern) => pattern.test(error.message))

/** True when the answer is the contract's: the call was executed and reverted. */
export const isRevert = (error: NodeError): boolean =>
  error.code === 3 || error.data !== undefined || /revert/i.test(error.message)

/** What a node's refusal is to a client: 503 when another node or moment may answer, else 502 with the node's reason. */
export const toServiceError = (error: NodeError): ServiceError =>
  isAboutTheNode(error)
    ? unavailable('no node has that block or takes requests now', error)
    : upstream(redactUrls(error.message), error)

/** Node texts are relayed, addresses in them are not: a provider's URL may carry a key. */
const redactUrls = (text: string): string => text.replace(/\b(?:https?|wss?):\/\/\S+/gi, '<node>')

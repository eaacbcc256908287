import { type Hex, isHex, size } from 'viem'
import { isUnavailable, ServiceError, unavailable, upstream } from '../../lib/errors.ts'
import { classify, type Fault, isNodeFault, type Refusal } from './faults.ts'

/** The most bytes of a revert that are kept: errors are cached, and a contract may return a megabyte. */
const MAX_DATA = 1_024

/** Returns a copy, because a part of a long string would keep the whole string in memory. Nethermind adds a word. */
const dataOf = (data: unknown): Hex | null => {
  const hex = typeof data === 'string' && data.startsWith('Reverted ') ? data.slice('Reverted '.length) : data
  if (!isHex(hex)) return null
  return `0x${Buffer.from(hex.slice(2, 2 + 2 * MAX_DATA), 'hex').toString('hex')}`
}

/** A node answered one request with a JSON-RPC error. `message` is the node's own text. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number
  /** The bytes that a reverted call returned, at most `MAX_DATA` of them; null when the node sent none. */
  readonly data: Hex | null
  readonly fault: Fault

  constructor(refusal: Refusal & { readonly code: number }) {
    super(refusal.message)
    this.code = refusal.code
    this.data = dataOf(refusal.data)
    this.fault = classify(refusal)
  }
}

/** The newest block, `number`, is preconfirmed: it has no hash yet. Another node, or the same one soon, may have one. */
export class Preconfirmed extends NodeError {
  readonly number: bigint

  constructor(number: bigint) {
    super({ code: -39_001, message: `the newest block has no hash yet: ${number}` })
    this.number = number
  }
}

/**
 * A view returned bytes that are not its outputs, as it does once an upgrade of the protocol changed them. It is neither
 * a revert nor proof of a faulty node.
 */
export class Undecodable extends NodeError {
  constructor(view: string, returned: Hex) {
    const message = `${view}() returned ${size(returned)} bytes that are not its outputs: the protocol may have been upgraded`
    super({ code: -32_000, message })
  }
}

/** Each endpoint that serves logs has dropped those of the range. For callers that do not handle it: unavailable. */
export class LogsPruned extends ServiceError {
  constructor(message: string, cause: unknown) {
    super('service_unavailable', message, { cause, retryAfter: 1 })
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
  !isNodeFault(error.fault) && (error.code === 3 || error.data !== null || /revert/i.test(error.message))

const NO_BYTES = 'execution reverted: no code or function at the address'

/** The error of a view call that succeeded without returning bytes: no code or no function answered it. */
export const noBytes = (): NodeError => new NodeError({ code: 3, message: NO_BYTES })

/** True for the error of `noBytes`. */
export const isNoBytes = ({ message }: NodeError): boolean => message === NO_BYTES

/** Texts of nodes about a call that ended early without a revert, in lower case. */
const failures = [
  'out of gas',
  'outofgas',
  'gas required exceeds',
  'insufficient funds',
  'intrinsic gas',
  'invalid jump',
  'invalid opcode',
  'opcode not found',
  'stack limit',
  'stack overflow',
  'stack underflow',
  'vm execution error',
  'evm error',
  'write protection',
]

/** True when the call cannot succeed at the newest block: it reverts, or its execution fails otherwise. */
export const isFailedCall = (error: NodeError): boolean => {
  if (isRevert(error)) return true
  const message = error.message.toLowerCase()
  return !isNodeFault(error.fault) && failures.some((text) => message.includes(text))
}

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

/** True when the nodes answered, and the answer is longer than the limit of the request. */
export const isTooLong = (error: unknown): boolean =>
  isUnavailable(error) && error.cause instanceof NodeUnreachable && error.cause.fault.kind === 'size'

/** True when the time for a request was over before a node answered. */
export const isTimeout = (error: unknown): boolean =>
  isUnavailable(error) && error.cause instanceof DOMException && error.cause.name === 'TimeoutError'

/** Removes URLs from node texts, which are relayed to clients: a provider's URL may contain a key. */
export const redactUrls = (text: string): string => text.replace(/\b(?:https?|wss?):\/\/\S+/gi, '<node>')

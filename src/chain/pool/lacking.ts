import { Undecodable } from '../rpc/errors.ts'
import { isNodeFault } from '../rpc/faults.ts'
import type { Request } from '../rpc/requests.ts'
import type { Outcome } from '../rpc/transport.ts'

/**
 * Whether another endpoint may have a better outcome: this one lacks the block, its error is about the node, it may
 * take the request later, or it may have returned damaged bytes.
 */
export const isLacking = (request: Request<unknown> | undefined, outcome: Outcome<unknown>): boolean =>
  outcome.ok
    ? request?.mayLack === true && outcome.value === null
    : isNodeFault(outcome.error.fault) ||
      outcome.error instanceof Undecodable ||
      request?.isForLater?.(outcome.error) === true

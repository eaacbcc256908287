import type { Hex } from 'viem'
import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { unavailable } from '../lib/errors.ts'
import { withTimeout } from '../lib/with-timeout.ts'
import { MAX_GAS } from './foreign-code.ts'
import type { Node } from './pool/failover.ts'
import type { Outcomes } from './rpc/batch.ts'
import { isFailedCall, type NodeError } from './rpc/errors.ts'
import { type CallOf, callAs, getNonce, getTransaction } from './rpc/transactions.ts'

/** How long a broadcast waits for a simulation, in milliseconds. */
const TIMEOUT_MS = 300

/** A call of a signed transaction. */
export type SignedCall = CallOf & { readonly hash: Hex; readonly nonce: bigint }

/** The error with which a signed call would fail at the newest block; null when it would succeed. */
export type SimulatedCall = { readonly error: NodeError | null }

/**
 * Simulates a signed call at the newest block. Null when a node already has the transaction, when earlier transactions
 * of its sender are not mined yet, and when no node answers within 300 milliseconds: a simulation never fails a
 * broadcast. A call that may run foreign code (`foreign`) has a limit of its gas.
 */
export const simulateSigned = async (
  node: Node,
  call: SignedCall,
  limited: ConcurrencyLimit,
  foreign = false,
): Promise<SimulatedCall | null> => {
  const gas = foreign && call.gas > MAX_GAS ? MAX_GAS : call.gas
  const done = callAs({ ...call, gas }, 'latest')
  const batch = { known: getTransaction(call.hash), count: getNonce(call.from, 'latest'), done }
  const simulate = async (signal: AbortSignal): Promise<SimulatedCall | null> => {
    const isAnswer = ({ done }: Outcomes<typeof batch>): boolean => done.ok || isFailedCall(done.error)
    const { known, count, done } = await limited(() => node.send(batch, { signal, isAnswer, foreign }), signal)
    const isNext = known.ok && known.value === null && count.ok && count.value === call.nonce
    if (!isNext) return null
    if (done.ok) return { error: null }
    return isFailedCall(done.error) ? { error: done.error } : null
  }
  try {
    // The time in the queue counts too.
    return await withTimeout(simulate, { ms: TIMEOUT_MS, late: () => unavailable('the simulation took too long') })
  } catch {
    return null
  }
}

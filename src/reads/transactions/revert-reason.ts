import { LRUCache } from 'lru-cache'
import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isFailedCall, isTooLong } from '../../chain/rpc/errors.ts'
import { type Block, getBlock } from '../../chain/rpc/requests.ts'
import { callAs, type Transaction, traceFailure } from '../../chain/rpc/transactions.ts'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { isUnavailable, nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import { createSingleFlight } from '../../lib/single-flight.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import { type DecodedRevert, revertOf, revertTooLong } from '../../protocol/reverts/decode.ts'

/** Why a mined transaction reverted; `exact` when a trace of the transaction itself shows it. */
export type MinedRevert = DecodedRevert & { readonly exact: boolean }

/** A transaction that was mined in a block and reverted. */
export type RevertedTransaction = {
  readonly hash: Hex
  readonly call: Transaction
  readonly gasUsed: bigint
  readonly block: Block
  /** The function of the protocol that it called. */
  readonly functionName: string | undefined
}

/** Reasons that are kept: they never change, and nodes execute a whole block to find one. */
const KEPT = 1_000

/** Most reasons that are looked for at the same time, and most that wait. */
const LIMITS = { atOnce: 4, waiting: 64 }

/** How long a trace, and a repeated call, may take, in milliseconds. */
const TIMEOUT_MS = 3_000

/** How long a look-up waits for a reason, in milliseconds. The search goes on for the next look-up. */
const WAIT_MS = 2 * TIMEOUT_MS

const WITHOUT_REASON = 'reverted_without_reason'
const REPEATED_WITHOUT_FAULT = 'execution reverted: the same call succeeds at the parent block'

/**
 * The reason of a failure. A contract that calls another one, as a proxy does, keeps a 64th of the gas when the other
 * runs out of it, and reverts without a reason.
 */
const decoded = (
  failed: Parameters<typeof revertOf>[0],
  { call, gasUsed, functionName }: RevertedTransaction,
): DecodedRevert => {
  const reason = revertOf(failed, functionName)
  const isOutOfGas = reason.code === WITHOUT_REASON && gasUsed * 64n >= call.gas * 63n
  return isOutOfGas ? revertOf({ data: null, message: 'out of gas' }) : reason
}

const traced = async (chain: Chain, reverted: RevertedTransaction): Promise<MinedRevert | null> => {
  const { trace } = await chain.send(
    { trace: traceFailure(reverted.hash) },
    { signal: AbortSignal.timeout(TIMEOUT_MS) },
  )
  return trace.ok && trace.value !== null ? { ...decoded(trace.value, reverted), exact: true } : null
}

/**
 * Repeats the call on the state before its block, as if in its block. Earlier transactions of the block are missing, so
 * the reason may differ. A node that knows no block overrides gets the call without them.
 */
const repeated = async (chain: Chain, reverted: RevertedTransaction): Promise<MinedRevert | null> => {
  const { call, block } = reverted
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const { parent } = await chain.send({ parent: getBlock(block.number - 1n) }, { signal })
  if (!parent.ok || parent.value === null) return null
  const at = { blockHash: parent.value.hash }
  const requests = { inBlock: callAs(call, at, block), atParent: callAs(call, at) }
  const { inBlock, atParent } = await chain.send(requests, { signal }).catch((error: unknown) => {
    if (!isUnavailable(error) || isTooLong(error)) throw error
    // Once every node has refused block overrides, none is asked for them.
    return chain.send({ ...requests, inBlock: undefined }, { signal })
  })
  // The call without overrides may fail only because of the time of the parent block.
  if (inBlock?.ok) return { ...revertOf({ data: null, message: REPEATED_WITHOUT_FAULT }), exact: false }
  for (const outcome of [inBlock, atParent]) {
    if (outcome?.ok === false && isFailedCall(outcome.error))
      return { ...decoded(outcome.error, reverted), exact: false }
  }
  return null
}

/**
 * The result of a search for `catch`: a reason of its own for data that are too long, and null for a request that timed
 * out or that no node answered. Throws everything else.
 */
const withoutAnswer =
  (exact: boolean) =>
  (error: unknown): MinedRevert | null => {
    if (isTooLong(error)) return { ...revertTooLong, exact }
    return error instanceof DOMException && error.name === 'TimeoutError' ? null : nullIfUnavailable(error)
  }

/** Finds out why transactions reverted: by a trace where a node serves it, else by repeating the call. */
export const createRevertReasons = () => {
  const reasons = new LRUCache<string, MinedRevert>({ max: KEPT })
  const once = createSingleFlight<MinedRevert | null>()
  const limited = createConcurrencyLimit({
    ...LIMITS,
    refuse: () => unavailable('too many reverted transactions are examined at once: retry after 1 s'),
  })

  /** Null when no node knows within `WAIT_MS`, or too many requests wait. Throws the reason of `signal`. */
  return async (chain: Chain, reverted: RevertedTransaction, signal: AbortSignal): Promise<MinedRevert | null> => {
    const key = `${chain.chainId} ${reverted.block.hash} ${reverted.hash}`
    const known = reasons.get(key)
    if (known !== undefined) return known
    const find = async (): Promise<MinedRevert | null> => {
      const reason =
        (await traced(chain, reverted).catch(withoutAnswer(true))) ??
        (await repeated(chain, reverted).catch(withoutAnswer(false)))
      if (reason !== null) reasons.set(key, reason)
      return reason
    }
    const search = () => once(key, () => limited(find).catch(nullIfUnavailable))
    return withTimeout(search, { ms: WAIT_MS, late: () => unavailable('no reason found in time'), signal }).catch(
      (error: unknown) => (signal.aborted ? Promise.reject(error) : nullIfUnavailable(error)),
    )
  }
}

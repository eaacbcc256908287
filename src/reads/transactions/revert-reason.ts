import { LRUCache } from 'lru-cache'
import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { isFailedCall, isTimeout, isTooLong, type NodeError } from '../../chain/rpc/errors.ts'
import { type Block, getBlock, type Request } from '../../chain/rpc/requests.ts'
import { callAs, type Transaction, traceFailure } from '../../chain/rpc/transactions.ts'
import { isUnavailable, nullIf, nullIfUnavailable, unavailable } from '../../lib/errors.ts'
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

/** How long it is kept that no node knows a reason, in milliseconds. */
const UNKNOWN_MS = 30_000

/** How long a look-up waits for a reason, in milliseconds. The search goes on for the next look-up. */
const WAIT_MS = 6_000

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
  const { trace } = await chain.send({ trace: traceFailure(reverted.hash) }, { foreign: true })
  return trace.ok && trace.value !== null ? { ...decoded(trace.value, reverted), exact: true } : null
}

/**
 * The failure of a call that is repeated; null when no node executes it, and `none` when it does not fail. Throws when
 * it takes too long.
 */
const failureOf = async (chain: Chain, call: Request<Hex>): Promise<NodeError | 'none' | null> => {
  const { outcome } = await chain.send({ outcome: call }, { foreign: true })
  if (outcome.ok) return 'none'
  return isFailedCall(outcome.error) ? outcome.error : null
}

/** For `catch`: null when no node in reach can execute the call. Throws everything else. */
const nullIfRefused = nullIf((error) => isUnavailable(error) && !isTooLong(error) && !isTimeout(error))

/**
 * Repeats the call on the state before its block, as if in its block. Earlier transactions of the block are missing, so
 * the reason may differ. A node that knows no block overrides gets the call without them.
 */
const repeated = async (chain: Chain, reverted: RevertedTransaction): Promise<MinedRevert | null> => {
  const { call, block } = reverted
  const { parent } = await chain.send({ parent: getBlock(block.number - 1n) }, { foreign: true })
  if (!parent.ok || parent.value === null) return null
  const at = { blockHash: parent.value.hash }
  const inBlock = await failureOf(chain, callAs(call, at, block)).catch(nullIfRefused)
  if (inBlock === 'none') return { ...revertOf({ data: null, message: REPEATED_WITHOUT_FAULT }), exact: false }
  const failed = inBlock ?? (await failureOf(chain, callAs(call, at)))
  // The call without overrides may succeed only because of the time of the parent block.
  return failed === null || failed === 'none' ? null : { ...decoded(failed, reverted), exact: false }
}

/** The result of a search for `catch`: a reason of its own for data that are too long. Throws everything else. */
const tooLong =
  (exact: boolean) =>
  (error: unknown): MinedRevert => {
    if (isTooLong(error)) return { ...revertTooLong, exact }
    throw error
  }

/** What a search has found: a reason, `unavailable` when no node has it, or `pending` while the search goes on. */
export type FoundReason = { readonly reason: MinedRevert } | 'unavailable' | 'pending'

/**
 * Finds out why transactions reverted: by a trace where a node serves it, else by repeating the call. `now` is a
 * monotonic clock in milliseconds.
 */
export const createRevertReasons = (now = () => performance.now()) => {
  // By the hash of the block too: in another block the transaction may have another reason.
  const found = new LRUCache<string, FoundReason>({ max: KEPT, ttlResolution: 0, perf: { now } })
  const once = createSingleFlight<FoundReason>()

  const find = async (chain: Chain, reverted: RevertedTransaction): Promise<MinedRevert | null> => {
    const trace = await traced(chain, reverted).catch(tooLong(true)).catch(nullIfUnavailable)
    return trace ?? (await repeated(chain, reverted).catch(tooLong(false)).catch(nullIfUnavailable))
  }

  /** Waits for `WAIT_MS` at most. Also `pending` when too many searches wait. Throws the reason of `signal`. */
  return async (
    chain: Chain,
    reverted: RevertedTransaction,
    signal: AbortSignal,
    client: string,
  ): Promise<FoundReason> => {
    const key = `${chain.chainId} ${reverted.block.hash} ${reverted.hash}`
    const known = found.get(key)
    if (known !== undefined) return known
    const search = () =>
      once(key, async () => {
        const reason = await chain.runReplay(() => find(chain, reverted), client)
        const result = reason === null ? 'unavailable' : { reason }
        found.set(key, result, result === 'unavailable' ? { ttl: UNKNOWN_MS } : {})
        return result
      })
    const late = () => unavailable('no reason found in time')
    try {
      return await withTimeout(search, { ms: WAIT_MS, late, signal })
    } catch (fault) {
      if (signal.aborted || !isUnavailable(fault)) throw fault
      return 'pending'
    }
  }
}

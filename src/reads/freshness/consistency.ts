import type { Hex } from 'viem'
import { z } from 'zod'
import type { Block } from '../../chain/rpc/requests.ts'
import { invalidField, nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { Bytes32, PathInteger, WaitMs } from '../../protocol/fields/request-fields.ts'
import type { Client, Polls, Waits } from './waits.ts'

const MAX_WAIT_MS = 10_000
export const DEFAULT_WAIT_MS = 3_000

/** The query fields with which a caller requires an answer at least as new as a known block or transaction. */
export const consistency = {
  minBlock: PathInteger.optional().meta({
    description: 'Return data as of this block or a later one. The request must name one chain',
  }),
  afterTx: Bytes32.optional().meta({
    description:
      'Return data as of the block of this transaction or a later one. The request must name one chain and no `minBlock`. When the transaction reverted, and so changed nothing, `meta.transaction` and the header `X-Transaction` are `reverted`',
  }),
  waitMs: WaitMs(
    MAX_WAIT_MS,
    `How long to wait for \`minBlock\` or \`afterTx\`, in milliseconds; ${DEFAULT_WAIT_MS} by default. The response is a 503 when the time is over`,
  ),
}

/** The values of these fields after validation. */
const ParsedConsistency = z.object({
  minBlock: z.number().transform(BigInt).optional(),
  afterTx: z.custom<Hex>((value) => typeof value === 'string').optional(),
  waitMs: z.number().default(DEFAULT_WAIT_MS),
})

/** A parsed request, which may have `consistency` fields. */
type RequestFields = Readonly<Record<string, unknown>>

/** The error for a block that the index did not reach in time. */
export const notIndexedYet = (chainId: ChainId, wanted: bigint, at: Pick<Block, 'number'> | undefined): Error =>
  unavailable(`block ${wanted} of chain ${chainId} is not indexed yet: the index is at ${blockOf(at)}`)

/** The error for an answer that is older than the request requires. */
export const answerTooOld = (chainId: ChainId, wanted: bigint, at: Pick<Block, 'number'> | undefined): Error =>
  unavailable(`block ${wanted} of chain ${chainId} cannot be read yet: the newest answer is as of ${blockOf(at)}`)

const blockOf = (at: Pick<Block, 'number'> | null | undefined): string =>
  at == null ? 'no block' : `block ${at.number}`

/** The required block or transaction, and its deadline (as `performance.now`); null when none is required. */
const requirementOf = (fields: RequestFields): { readonly wanted: bigint | Hex; readonly deadline: number } | null => {
  const { minBlock, afterTx, waitMs } = ParsedConsistency.parse(fields)
  if (minBlock !== undefined && afterTx !== undefined)
    throw invalidField('afterTx', 'expected minBlock or afterTx, not both')
  const wanted = minBlock ?? afterTx
  return wanted === undefined ? null : { wanted, deadline: performance.now() + waitMs }
}

/**
 * The oldest block that an answer may be as of, and whether the transaction of that block, if the request names one,
 * reverted.
 */
export type AtLeast = { readonly block: bigint; readonly isReverted: boolean }

const fromBlock = (block: bigint): AtLeast => ({ block, isReverted: false })

const oneOf = ([chainId, ...others]: readonly ChainId[], chainField = 'chainId'): ChainId => {
  if (chainId === undefined || others.length > 0)
    throw invalidField(chainField, 'expected one chain: minBlock and afterTx are of one chain')
  return chainId
}

type WaitEnd = { readonly deadline: number; readonly signal: AbortSignal }

/**
 * Waits until the index has the block or transaction that a request requires (`consistency`). Returns the oldest block
 * that the answer may be as of, and whether the transaction reverted; null when none is required. A transaction that no
 * node knows counts as not mined yet, since it may have been sent to another node. `chainField` is the request field
 * with the chains. `observed` is true when the answer contains the state of entities, and not only their ids. Throws
 * `validation_error` for both fields at once and for more than one chain, `service_unavailable` with both blocks at the
 * deadline, and as `Waits.during` does.
 */
export const awaitIndex = async (
  waits: Waits,
  client: Client,
  chainIds: readonly ChainId[],
  fields: RequestFields,
  { chainField = 'chainId', observed = false } = {},
): Promise<AtLeast | null> => {
  const requirement = requirementOf(fields)
  if (requirement === null) return null
  const { wanted, deadline } = requirement
  const chainId = oneOf(chainIds, chainField)
  const reached = waits.changes.reached(chainId)?.block.number ?? -1n
  if (typeof wanted === 'bigint' && !observed && wanted <= reached) return fromBlock(wanted)
  return waits.during(chainId, client, async (polls, signal) => {
    const end = { deadline, signal }
    const atLeast =
      typeof wanted === 'bigint'
        ? await untilIndexed(polls, chainId, wanted, end)
        : await untilTx(polls, chainId, wanted, 'index', end)
    if (observed) await untilRefreshed(polls, `block ${atLeast.block} of chain ${chainId}`, end)
    return atLeast
  })
}

/**
 * Does the same for a read of the chain: waits for the head of the nodes. When no node is in reach, a block that the
 * index has reached is enough, because the read falls back to the index.
 */
export const awaitHead = async (
  waits: Waits,
  client: Client,
  chainIds: readonly ChainId[],
  fields: RequestFields,
): Promise<AtLeast | null> => {
  const requirement = requirementOf(fields)
  if (requirement === null) return null
  const { wanted, deadline } = requirement
  const chainId = oneOf(chainIds)
  if (typeof wanted === 'bigint') {
    const head = await waits.chains.get(chainId)?.head(wanted).catch(nullIfUnavailable)
    if (head && head.number >= wanted) return fromBlock(wanted)
  }
  return waits.during(chainId, client, (polls, signal) =>
    typeof wanted === 'bigint'
      ? untilHead(polls, chainId, wanted, { deadline, signal })
      : untilTx(polls, chainId, wanted, 'head', { deadline, signal }),
  )
}

const untilIndexed = (polls: Polls, chainId: ChainId, wanted: bigint, end: WaitEnd): Promise<AtLeast> =>
  polls.tips.until({
    ...end,
    key: wanted.toString(),
    check: (tip) => (tip !== undefined && tip.block.number >= wanted ? fromBlock(wanted) : undefined),
    late: (tip) => notIndexedYet(chainId, wanted, tip?.block),
  })

/**
 * Runs a read that depends on observations. When a rollback deleted observations of a chain, waits until its refresh
 * queue is processed and reads again. Throws `service_unavailable` when that takes longer than the default wait, and as
 * `Waits.during` does.
 */
export const afterRefresh = async <T extends { readonly refreshing: readonly ChainId[] }>(
  waits: Waits,
  client: Client,
  read: () => Promise<T>,
): Promise<T> => {
  const first = await read()
  if (first.refreshing.length === 0) return first
  const deadline = performance.now() + DEFAULT_WAIT_MS
  for (const chainId of first.refreshing)
    await waits.during(chainId, client, (polls, signal) =>
      untilRefreshed(polls, `a reorg of chain ${chainId}`, { deadline, signal }),
    )
  return read()
}

/**
 * Waits until rows show the changes of all blocks that are indexed at its start. An observation that queues further
 * refresh requests passes on the blocks of its own, so this covers them; requests of later blocks are not waited for.
 * This process then also knows the change of the last observation, so that no older response counts as current.
 */
export const untilRefreshed = async (polls: Polls, cause: string, end: WaitEnd): Promise<void> => {
  let upTo: bigint | undefined
  let lastChange: number | undefined
  await polls.refreshRequests.until({
    ...end,
    check({ indexed, oldestBlock, newestChange, knownChange }) {
      upTo ??= indexed ?? -1n
      if (oldestBlock === null || oldestBlock > upTo) lastChange ??= newestChange
      return lastChange !== undefined && knownChange >= lastChange ? true : undefined
    },
    late: () => unavailable(`entities changed by ${cause} are not refreshed yet: try again`),
  })
}

const untilHead = (polls: Polls, chainId: ChainId, wanted: bigint, end: WaitEnd): Promise<AtLeast> =>
  polls.head.until({
    ...end,
    key: wanted.toString(),
    check: ({ head, tip }) => (((head ?? tip?.block)?.number ?? -1n) >= wanted ? fromBlock(wanted) : undefined),
    late: ({ head, fault }) =>
      head === null && fault instanceof Error
        ? fault
        : unavailable(`chain ${chainId} has not reached block ${wanted} yet: the head is ${blockOf(head)}`),
  })

const untilTx = (
  polls: Polls,
  chainId: ChainId,
  txHash: Hex,
  place: 'index' | 'head',
  end: WaitEnd,
): Promise<AtLeast> =>
  polls[place].until({
    ...end,
    key: txHash,
    check({ transactions }) {
      const tx = transactions.get(txHash)
      return tx?.isReached === true ? tx : undefined
    },
    late({ transactions, fault, tip, head }) {
      if (fault instanceof Error) return fault
      const block = transactions.get(txHash)?.block
      const at = place === 'index' ? `the index is at ${blockOf(tip?.block)}` : `the head is ${blockOf(head)}`
      if (block === undefined)
        return unavailable(`transaction ${txHash} is not in a block of any node of chain ${chainId} yet: ${at}`)
      return place === 'index'
        ? notIndexedYet(chainId, block, tip?.block)
        : answerTooOld(chainId, block, head ?? undefined)
    },
  })

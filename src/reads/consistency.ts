import type { Hex } from 'viem'
import { z } from 'zod'
import { type Block, getBlock, getReceipt } from '../chain/requests.ts'
import type { Reached } from '../db/changes.ts'
import { invalid, isUnavailable, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { ChainId } from '../protocol/chains.ts'
import { Bytes32, PathInteger } from '../protocol/wire.ts'
import { chainOf, type Sources } from './read.ts'

const MAX_WAIT_MS = 10_000
const WAIT_MS = 3_000

const waitError = `expected milliseconds from 0 to ${MAX_WAIT_MS}`

/** The query fields of every read of the index by which a caller asks for an answer that is not older than what they know. */
export const consistency = {
  minBlock: PathInteger.optional().meta({
    description: 'A block that the answer must not be older than; of one chain',
  }),
  afterTx: Bytes32.optional().meta({
    description: 'A transaction whose block the answer must not be older than; of one chain, and instead of `minBlock`',
  }),
  waitMs: z
    .string({ error: waitError })
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= MAX_WAIT_MS, { error: waitError })
    .transform(Number)
    .optional()
    .meta({
      description: `How long to wait for either, in milliseconds; ${WAIT_MS} when not said. 503 then`,
      type: 'integer',
      minimum: 0,
      maximum: MAX_WAIT_MS,
      example: WAIT_MS,
    }),
}

/** The same, decoded. */
const Wanted = z.object({
  minBlock: z.number().optional(),
  afterTx: z.custom<Hex>((value) => typeof value === 'string').optional(),
  waitMs: z.number().optional(),
})

/** The fault of an index that has not come to a block in time. */
export const behind = (chainId: ChainId, wanted: bigint, at: Pick<Block, 'number'> | undefined): Error =>
  unavailable(`block ${wanted} of chain ${chainId} is not indexed yet: the index is at ${blockOf(at)}`)

const blockOf = (at: Pick<Block, 'number'> | undefined): string =>
  at === undefined ? 'no block' : `block ${at.number}`

/** Nodes are asked for one transaction so often at most, in milliseconds. */
const ASK_EVERY_MS = 100

type Deps = Pick<Sources, 'chains' | 'changes' | 'queries'>

/** Resolves with the next commit that this process learns of, and after `ms` at the latest. */
const nextCommit = async ({ changes }: Pick<Deps, 'changes'>, ms: number): Promise<void> => {
  const rung = new AbortController()
  const stop = changes.onCommit(() => rung.abort())
  await sleep(ms, rung.signal)
  stop()
}

/** The block of a transaction, and whether that is on the index's fork and indexed. `block` is null while no node has it in one. */
const findTx = async (
  { chains }: Pick<Deps, 'chains'>,
  chainId: ChainId,
  txHash: Hex,
  tip: Reached | undefined,
): Promise<{ readonly block: bigint | null; readonly isIndexed: boolean }> => {
  // One endpoint says both, so they are of one fork.
  const [receipt, same] = await chainOf({ chains }, chainId).send([
    getReceipt(txHash),
    getBlock(tip?.block.number ?? 0n),
  ])
  if (!receipt.ok || receipt.value === null) return { block: null, isIndexed: false }
  const { blockNumber: block } = receipt.value
  const isIndexed = tip !== undefined && block <= tip.block.number && same.ok && same.value?.hash === tip.block.hash
  return { block, isIndexed }
}

type Consistent = {
  /** Where the request names its chains. */
  readonly chainField?: string
  /** Whether the answer also shows what entities hold, and not only which there are. */
  readonly observed?: boolean
}

/**
 * Waits until the index has what a request asks for (`consistency`, if its query has these fields), and gives the block that the answer must
 * not be older than; null when it asks for none. Throws `validation_error` for both at once and for more than one chain, and
 * `service_unavailable`, naming both blocks, when the time is over. A transaction that no node knows yet is waited for like one that is
 * not mined: its sender may have told another node.
 */
export const awaitIndex = async (
  deps: Deps,
  chainIds: readonly ChainId[],
  query: z.ZodObject,
  input: Readonly<Record<string, unknown>>,
  { chainField = 'chainId', observed = false }: Consistent = {},
): Promise<bigint | null> => {
  if (!('waitMs' in query.shape)) return null
  const { minBlock, afterTx, waitMs = WAIT_MS } = Wanted.parse(input)
  if (minBlock === undefined && afterTx === undefined) return null
  const [chainId, ...others] = chainIds
  if (minBlock !== undefined && afterTx !== undefined) throw refused('afterTx', 'minBlock or afterTx, not both')
  if (chainId === undefined || others.length > 0) throw refused(chainField, 'one chain, which the block is of')

  const deadline = performance.now() + waitMs
  const block = await (afterTx === undefined
    ? awaitBlock(deps, chainId, BigInt(minBlock ?? 0), deadline)
    : awaitTx(deps, chainId, afterTx, deadline))
  if (observed) await awaitObserved(deps, chainId, block, deadline)
  return block
}

const awaitBlock = async (deps: Deps, chainId: ChainId, wanted: bigint, deadline: number): Promise<bigint> => {
  const tip = (): Reached | undefined => deps.changes.reached(chainId)
  while ((tip()?.block.number ?? -1n) < wanted) {
    const left = deadline - performance.now()
    if (left <= 0) throw behind(chainId, wanted, tip()?.block)
    await nextCommit(deps, left)
  }
  return wanted
}

/** Waits until nothing of what waits now to be observed does: the blocks that are indexed noted all that they may have changed. */
const awaitObserved = async (deps: Deps, chainId: ChainId, block: bigint, deadline: number): Promise<void> => {
  const last = await deps.queries.newestNote(chainId)
  while (last !== null && (await deps.queries.isWaiting(chainId, last))) {
    const left = deadline - performance.now()
    if (left <= 0) throw unavailable(`what block ${block} of chain ${chainId} changed is not read yet`)
    // Not every observation is told: what was seen to have stayed the same is not.
    await nextCommit(deps, Math.min(left, ASK_EVERY_MS))
  }
}

const awaitTx = async (deps: Deps, chainId: ChainId, txHash: Hex, deadline: number): Promise<bigint> => {
  for (;;) {
    const asked = performance.now()
    const tip = deps.changes.reached(chainId)
    let block: bigint | null = null
    let fault: unknown
    try {
      const found = await findTx(deps, chainId, txHash, tip)
      if (found.isIndexed && found.block !== null) return found.block
      block = found.block
    } catch (error) {
      if (!isUnavailable(error)) throw error
      fault = error
    }
    const left = deadline - performance.now()
    if (left <= 0) {
      if (fault !== undefined) throw fault
      if (block !== null) throw behind(chainId, block, tip?.block)
      const message = `no node of chain ${chainId} has transaction ${txHash} in a block yet`
      throw unavailable(`${message}: the index is at ${blockOf(tip?.block)}`)
    }
    // What the index committed while the node was asked is looked at at once.
    if (deps.changes.reached(chainId)?.block.hash === tip?.block.hash) await nextCommit(deps, left)
    await sleep(Math.min(left, ASK_EVERY_MS - (performance.now() - asked)))
  }
}

const refused = (path: string, message: string): Error =>
  invalid(`${path}: expected ${message}`, [{ path, message: `expected ${message}` }])

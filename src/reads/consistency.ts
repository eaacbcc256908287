import type { Hex } from 'viem'
import { z } from 'zod'
import type { Block } from '../chain/requests.ts'
import { invalid, isUnavailable, unavailable } from '../lib/errors.ts'
import type { ChainId } from '../protocol/chains.ts'
import { Bytes32, PathInteger } from '../protocol/wire.ts'
import { chainOf } from './read.ts'
import { HEAD, type Polls, type Waiter, type Waits } from './waits.ts'

const MAX_WAIT_MS = 10_000
const WAIT_MS = 3_000

const waitError = `expected milliseconds from 0 to ${MAX_WAIT_MS}`

/** The query fields of every read of the index or the chain by which a caller asks for an answer that is not older than what they know. */
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
      description: `How long to wait for either, in milliseconds; ${WAIT_MS} when omitted. 503 then`,
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

/** The fault of an answer that is older than a request asks for. */
export const tooOld = (chainId: ChainId, wanted: bigint, at: Pick<Block, 'number'> | undefined): Error =>
  unavailable(`block ${wanted} of chain ${chainId} is asked for: what can be read is of ${blockOf(at)}`)

const blockOf = (at: Pick<Block, 'number'> | null | undefined): string =>
  at == null ? 'no block' : `block ${at.number}`

/** What a wait is for: a block, or the block of a transaction. */
type Asked = { readonly minBlock: bigint } | { readonly afterTx: Hex }

/** What a request asks for, and until when it waits (as `performance.now`); null when it asks for nothing. */
const wantedOf = (
  query: z.ZodObject,
  input: Readonly<Record<string, unknown>>,
): { readonly asked: Asked; readonly deadline: number } | null => {
  if (!('waitMs' in query.shape)) return null
  const { minBlock, afterTx, waitMs = WAIT_MS } = Wanted.parse(input)
  if (minBlock !== undefined && afterTx !== undefined) throw refused('afterTx', 'minBlock or afterTx, not both')
  const deadline = performance.now() + waitMs
  if (afterTx !== undefined) return { asked: { afterTx }, deadline }
  return minBlock === undefined ? null : { asked: { minBlock: BigInt(minBlock) }, deadline }
}

type Consistent = {
  /** Where the request names its chains. */
  readonly chainField?: string
  /** Whether the answer also shows what entities hold, and not only which there are. */
  readonly observed?: boolean
}

type Ending = { readonly deadline: number; readonly signal: AbortSignal }

/**
 * Waits until the index has what a request asks for (`consistency`, if its query has these fields), and gives the block that the answer must
 * not be older than; null when it asks for none. Throws `validation_error` for both at once and for more than one chain, and
 * `service_unavailable`, naming both blocks, when the time is over. A transaction that no node knows yet is waited for like one that is
 * not mined: its sender may have sent it to another node. Throws also as `Waits.during` does.
 */
export const awaitIndex = async (
  waits: Waits,
  waiter: Waiter,
  chainIds: readonly ChainId[],
  query: z.ZodObject,
  input: Readonly<Record<string, unknown>>,
  { chainField = 'chainId', observed = false }: Consistent = {},
): Promise<bigint | null> => {
  const wanted = wantedOf(query, input)
  if (wanted === null) return null
  const { asked, deadline } = wanted
  const [chainId, ...others] = chainIds
  if (chainId === undefined || others.length > 0) throw refused(chainField, 'one chain, which the block is of')
  const reached = waits.changes.reached(chainId)?.block.number ?? -1n
  if ('minBlock' in asked && !observed && asked.minBlock <= reached) return asked.minBlock
  return waits.during(chainId, waiter, async (polls, signal) => {
    const ending = { deadline, signal }
    const block =
      'minBlock' in asked
        ? await untilIndexed(polls, chainId, asked.minBlock, ending)
        : await untilTx(polls, chainId, asked.afterTx, 'isOnIndex', ending)
    if (observed) await untilObserved(polls, `block ${block} of chain ${chainId}`, ending)
    return block
  })
}

/**
 * The same of a read of the chain: waits until the nodes' head has it. Without nodes it leaves a block that the index has to the read, whose
 * answer from the index may be of it.
 */
export const awaitHead = async (
  waits: Waits,
  waiter: Waiter,
  chainId: ChainId,
  query: z.ZodObject,
  input: Readonly<Record<string, unknown>>,
): Promise<bigint | null> => {
  const wanted = wantedOf(query, input)
  if (wanted === null) return null
  const { asked, deadline } = wanted
  if ('minBlock' in asked && (await isAtHead(waits, chainId, asked.minBlock))) return asked.minBlock
  return waits.during(chainId, waiter, (polls, signal) =>
    'minBlock' in asked
      ? untilHead(polls, chainId, asked.minBlock, { deadline, signal })
      : untilTx(polls, chainId, asked.afterTx, 'isOnHead', { deadline, signal }),
  )
}

const isAtHead = async (waits: Waits, chainId: ChainId, wanted: bigint): Promise<boolean> => {
  try {
    return (await chainOf(waits, chainId).head(wanted)).number >= wanted
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault
    return false
  }
}

const untilIndexed = (polls: Polls, chainId: ChainId, wanted: bigint, ending: Ending): Promise<bigint> =>
  polls.tips.until({
    ...ending,
    key: HEAD,
    check: (tip) => (tip !== undefined && tip.block.number >= wanted ? wanted : undefined),
    late: (tip) => behind(chainId, wanted, tip?.block),
  })

/**
 * Reads what depends on observations, and reads it again when a rollback had deleted some of them: once everything that waited to be observed
 * is. Throws `service_unavailable` when that takes longer than a wait does by default, and as `Waits.during` does.
 */
export const afterRefresh = async <T extends { readonly refreshing: readonly ChainId[] }>(
  waits: Waits,
  waiter: Waiter,
  read: () => Promise<T>,
): Promise<T> => {
  const found = await read()
  if (found.refreshing.length === 0) return found
  const deadline = performance.now() + WAIT_MS
  for (const chainId of found.refreshing)
    await waits.during(chainId, waiter, (polls, signal) =>
      untilObserved(polls, `a reorg of chain ${chainId}`, { deadline, signal }),
    )
  return read()
}

/** Waits until nothing of what waits now to be observed does: the blocks that are indexed noted all that they may have changed. */
const untilObserved = async (polls: Polls, cause: string, ending: Ending): Promise<void> => {
  let last: bigint | null | undefined
  await polls.notes.until({
    ...ending,
    key: HEAD,
    check({ newest, oldest }) {
      if (last === undefined) last = newest
      return last === null || oldest === null || oldest > last ? true : undefined
    },
    late: () => unavailable(`what ${cause} changed is not read yet: try again`),
  })
}

const untilHead = (polls: Polls, chainId: ChainId, wanted: bigint, ending: Ending): Promise<bigint> =>
  polls.nodes.until({
    ...ending,
    key: HEAD,
    check: ({ head, tip }) => (((head ?? tip?.block)?.number ?? -1n) >= wanted ? wanted : undefined),
    late: ({ head, fault }) =>
      head === null && fault instanceof Error
        ? fault
        : unavailable(`block ${wanted} of chain ${chainId} is not there yet: the head is ${blockOf(head)}`),
  })

const untilTx = (
  polls: Polls,
  chainId: ChainId,
  txHash: Hex,
  place: 'isOnIndex' | 'isOnHead',
  ending: Ending,
): Promise<bigint> =>
  polls.nodes.until({
    ...ending,
    key: txHash,
    check({ found }) {
      const tx = found.get(txHash)
      return tx?.[place] === true ? tx.block : undefined
    },
    late({ found, fault, tip, head }) {
      if (fault instanceof Error) return fault
      const block = found.get(txHash)?.block
      const at = place === 'isOnIndex' ? `the index is at ${blockOf(tip?.block)}` : `the head is ${blockOf(head)}`
      if (block === undefined)
        return unavailable(`no node of chain ${chainId} has transaction ${txHash} in a block yet: ${at}`)
      return place === 'isOnIndex' ? behind(chainId, block, tip?.block) : tooOld(chainId, block, head ?? undefined)
    },
  })

const refused = (path: string, message: string): Error =>
  invalid(`${path}: expected ${message}`, [{ path, message: `expected ${message}` }])

import type { Chain } from '../chain/chain.ts'
import { toServiceError } from '../chain/rpc/errors.ts'
import { getBlock } from '../chain/rpc/requests.ts'
import type { Database } from '../db/pool.ts'
import { type ExportState, readExportState } from '../db/queries/export.ts'
import { unavailable } from '../lib/errors.ts'
import { max } from '../lib/fixed.ts'
import type { FinalityCache } from '../reads/freshness/finality.ts'
import { dayOf, startOf } from './days.ts'

/* Which days can be exported: those whose blocks are all final, and of which the index lacks nothing. */

/** A part of the index that no reorg changes: its blocks before a time, as of a state of the index. */
export type FinalPart = { readonly state: ExportState; readonly upTo: bigint; readonly before: bigint }

/**
 * Reads which part of the index is final: the nodes have its newest block, and so all before it, and call the others
 * final. Throws `service_unavailable` while no node shows that.
 */
export const finalPartOf = async (deps: {
  readonly chain: Chain
  readonly finality: Pick<FinalityCache, 'finalBlock'>
  readonly database: Pick<Database, 'snapshot'>
}): Promise<FinalPart> => {
  const { chain, finality, database } = deps
  const { chainId } = chain
  const state = await database.snapshot((_, rows) => readExportState(rows, chainId))
  if (state === null) throw unavailable(`chain ${chainId} is not indexed yet: run the export after the worker`)
  const final = await finality.finalBlock(chainId, 'finalized')
  if (final === null) throw unavailable(`chain ${chainId} has no final block yet`)
  const { indexed } = await chain.send({ indexed: getBlock(state.block.number) })
  if (!indexed.ok) throw toServiceError(indexed.error)
  if (indexed.value?.hash !== state.block.hash)
    throw unavailable(
      `the nodes of chain ${chainId} do not have the newest block of the index, ${state.block.number}: run the export again when the worker has followed them`,
    )
  const end = final.number < state.block.number ? final : state.block
  return { state, upTo: end.number, before: end.timestamp }
}

const UNREAD_LOGS = '`ledger` and `withoutLog` in /status show the logs that the worker still has to read'
const UNREAD_EVENT = '`observations` in /status shows the events that the worker still has to read'

/** Days that the index does not have completely, and why. */
export type IncompleteDays = { readonly first: string; readonly last: string; readonly why: string }

/** Reads which final days the index does not have completely. */
export const incompleteDays = async (chain: Chain, part: FinalPart): Promise<IncompleteDays[]> => {
  const { state, before } = part
  const { startBlock } = chain.deployment
  const dayAt = async (number: bigint): Promise<string> => {
    const { block } = await chain.send({ block: getBlock(number) })
    if (!block.ok) throw toServiceError(block.error)
    if (block.value === null) throw unavailable(`no node of chain ${chain.chainId} has block ${number}`)
    return dayOf(block.value.timestamp)
  }
  const days: IncompleteDays[] = []
  for (const { from, to } of state.gaps)
    days.push({ first: await dayAt(max(from, startBlock)), last: await dayAt(to), why: UNREAD_LOGS })
  const { unreadAt } = state
  if (unreadAt !== null) days.push({ first: dayOf(unreadAt), last: dayOf(before), why: UNREAD_EVENT })
  const final = lastFinalOf(part)
  return days.flatMap((it) => (it.first > final ? [] : it.last > final ? { ...it, last: final } : it))
}

/** Whether a part of the index is still final and as complete as it was. */
export const isAsComplete = (now: ExportState | null, { state, upTo, before }: FinalPart): boolean =>
  now !== null &&
  now.block.number >= upTo &&
  now.gaps.every(({ from, to }) => from > upTo || state.gaps.some((gap) => gap.from <= from && gap.to >= to)) &&
  (now.unreadAt === null || now.unreadAt >= (state.unreadAt ?? before))

/** The last day that ends before the end of the final part. */
export const lastFinalOf = ({ before }: FinalPart): string => dayOf(startOf(dayOf(before)) - 1n)

import type { Block } from '../../chain/rpc/requests.ts'
import type { ListQuery } from '../../db/queries/listings.ts'
import type { Tip } from '../../db/queries/tips.ts'
import { invalidField, unavailable } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { ChainCursor } from '../cursor.ts'
import { notIndexedYet } from '../freshness/consistency.ts'
import type { Finality, FinalityCache } from '../freshness/finality.ts'
import { blockFields, type Freshness, indexFreshness, isStale } from '../freshness/freshness.ts'
import { lagOfTip } from '../lag/lag.ts'

/* What the pages of all lists have in common: where they start and end on each chain, and the blocks that they are as of. */

/** A page on one chain, and the final block that bounds a first page; null without one. */
type ChainQuery = { readonly query: ListQuery; readonly final: Awaited<ReturnType<FinalityCache['finalBlock']>> }

const nextQuery = ({ chainId, after, bound, rollback }: ChainCursor): ChainQuery => ({
  query: { chainId, after, rollback, upTo: bound.number, now: bound.timestamp },
  final: null,
})

/** The first page of a chain, up to its newest block, a final one, or the block `at`. */
export const firstQuery = async (
  sources: { readonly finality: Pick<FinalityCache, 'finalBlock'> },
  chainId: ChainId,
  { finality = 'latest', at }: { readonly finality?: Finality | undefined; readonly at?: Block | undefined },
): Promise<ChainQuery> => {
  const final = at ?? (await sources.finality.finalBlock(chainId, finality))
  const upTo = final?.number ?? null
  return { query: { chainId, after: null, upTo, now: final?.timestamp ?? null, rollback: null }, final }
}

/** The page after cursors, or the first page where there are none. */
export const queriesOf = async (
  sources: Parameters<typeof firstQuery>[0],
  chainIds: readonly ChainId[],
  from: {
    readonly previousCursors: readonly ChainCursor[]
    readonly finality: Finality | undefined
    readonly blockOf?: (chainId: ChainId) => Promise<Block | undefined>
  },
): Promise<ChainQuery[]> =>
  from.previousCursors.length > 0
    ? from.previousCursors.map(nextQuery)
    : Promise.all(
        chainIds.map(async (id) => firstQuery(sources, id, { finality: from.finality, at: await from.blockOf?.(id) })),
      )

/**
 * The position in each chain after a page. `lastOf` returns that of the last row of a chain on the page; null where it
 * has none. Throws `service_unavailable` for a chain that is not indexed yet.
 */
export const cursorsAfter = (
  queries: readonly ChainQuery[],
  previousCursors: readonly ChainCursor[],
  tips: readonly Tip[],
  lastOf: (chainId: ChainId) => ChainCursor['after'],
): ChainCursor[] =>
  queries.map(({ query: { chainId }, final }) => {
    const tip = tips.find((it) => it.chainId === chainId)
    if (tip === undefined) throw unavailable(`chain ${chainId} is not indexed yet`)
    const previous = previousCursors.find((it) => it.chainId === chainId)
    const after = lastOf(chainId) ?? previous?.after ?? null
    if (previous !== undefined) return { ...previous, after }
    const bound = final !== null && final.number < tip.block.number ? final : tip.block
    return { chainId, after, bound, rollback: tip.rollback }
  })

/** The blocks that a page is as of, and its freshness. A page of the past does not lag. */
export const asOfTips = (
  tips: readonly Tip[],
  cursors: readonly ChainCursor[],
  { maxLagSeconds, isPast = false }: { readonly maxLagSeconds: number; readonly isPast?: boolean },
) => {
  const asOf = cursors.map(({ chainId, bound }) => {
    const tip = tips.find((it) => it.chainId === chainId)
    const lagSeconds = isPast || tip === undefined ? null : lagOfTip(tip)
    return { chainId, ...blockFields(bound), lagSeconds, reorgedSince: tip?.reorged ?? false }
  })
  const lags = asOf.map(({ lagSeconds }) => lagSeconds)
  const stale = !isPast && lags.some((lag) => isStale(lag, maxLagSeconds))
  const bounds = cursors.map(({ bound }) => bound)
  return { asOf, freshness: indexFreshness(bounds, lags, stale) }
}

/**
 * Requires a page to be as of block `atLeast` of its one chain or a later block. Throws `validation_error` for a cursor
 * whose first page is as of an earlier block, and `service_unavailable` for an index that is not up to it.
 */
export const requireBlock = (
  { block }: Freshness,
  asked: {
    readonly atLeast: bigint | null
    readonly cursor: string | undefined
    readonly chainIds: readonly ChainId[]
  },
): void => {
  const { atLeast, cursor, chainIds } = asked
  if (atLeast === null || (block !== undefined && block.number >= atLeast)) return
  if (cursor !== undefined)
    throw invalidField(
      'cursor',
      `expected a cursor whose first page is as of block ${atLeast} or later: start again without a cursor`,
    )
  const [chainId] = chainIds
  throw chainId === undefined ? new RangeError('the list has no chain') : notIndexedYet(chainId, atLeast, block)
}

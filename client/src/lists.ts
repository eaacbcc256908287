import { type Reorg, ReorgError } from './errors.ts'
import type { Requests } from './requests.ts'
import type { CallOptions, ListPath, Params, Row } from './types.ts'

export type ListOptions = CallOptions & {
  /**
   * Receives a reorg that removed blocks the list is as of, once per chain and before the rows of the page that reports
   * it. The iteration then continues with the remaining rows. Without it, the iteration throws ReorgError.
   */
  readonly onReorg?: (reorg: Reorg) => void
}

/** The part of a page that all lists have. Lists of ids are not as of a block. */
type Page<T> = {
  readonly data: readonly T[]
  readonly meta?: {
    readonly nextCursor: string | null
    readonly asOf?: readonly (Omit<Reorg, 'type' | 'rowsBefore'> & { readonly reorgedSince: boolean })[]
  }
}

const LIMIT = 200

/** All rows of a paginated list, each once: those that existed at the first page. */
export async function* listRows<P extends ListPath>(
  api: Requests,
  path: P,
  params: Params<P>,
  { onReorg, ...call }: ListOptions = {},
): AsyncGenerator<Row<P>, void, undefined> {
  const reported = new Set<number>()
  let rowsBefore = 0
  for (let cursor: string | null | undefined; cursor !== null; ) {
    // A list of named rows has one page, and takes no limit.
    const given = {
      ...('ids' in Object(params) ? {} : { limit: LIMIT }),
      ...params,
      ...(cursor !== undefined && { cursor }),
    }
    const page = (await api.get<ListPath>(path, given, call)) as unknown as Page<Row<P>>
    for (const { chainId, blockNumber, blockHash, reorgedSince } of page.meta?.asOf ?? []) {
      if (!reorgedSince || reported.has(chainId)) continue
      reported.add(chainId)
      const reorg: Reorg = { type: 'reorg', chainId, blockNumber, blockHash, rowsBefore }
      if (onReorg === undefined) throw new ReorgError(reorg)
      onReorg(reorg)
    }
    yield* page.data
    rowsBefore += page.data.length
    cursor = page.meta?.nextCursor ?? null
  }
}

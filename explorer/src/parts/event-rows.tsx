import type { UseQueryResult } from '@tanstack/preact-query'
import type { Row } from 'fx-protection-client'
import type { ComponentChildren } from 'preact'
import { useApi } from '../api/queries.ts'
import { Pager, usePages } from './pager.tsx'
import { Empty, Read } from './state.tsx'

/** How many rows of a list are shown at once. */
const ROWS = 10

type ListPath = '/v1/hedge/positions' | '/v1/hedge/deposits' | '/v1/activity'
type Props<P extends ListPath> = {
  readonly event: { readonly chainId: number; readonly id: number }
  readonly path: P
  readonly title: string
  /** How many rows there are, where that is known. */
  readonly count: number | undefined
  readonly empty: string
  readonly table: (rows: readonly Row<P>[]) => ComponentChildren
}

/** A list of what belongs to an event, page by page. */
export function EventRows<P extends ListPath>({ event, path, title, count = 0, empty, table }: Props<P>) {
  const pages = usePages()
  const rows = useApi(
    path,
    {
      ...{ chainId: event.chainId, eventId: event.id, limit: ROWS },
      ...(pages.cursor !== undefined && { cursor: pages.cursor }),
    } as never,
    { live: pages.number === 1 },
  ) as UseQueryResult<{ data: Row<P>[]; meta: { nextCursor: string | null } }>
  const first = ROWS * (pages.number - 1)
  return (
    <>
      <h2>
        {title}{' '}
        {count > ROWS && rows.data && (
          <small>
            {first + 1}–{first + rows.data.data.length} of {count}
          </small>
        )}
      </h2>
      <Read of={rows} shape="rows">
        {({ data, meta }) => (
          <>
            {data.length === 0 ? <Empty>{empty}</Empty> : table(data)}
            <Pager pages={pages} nextCursor={meta.nextCursor} />
          </>
        )}
      </Read>
    </>
  )
}

import type { UseQueryResult } from '@tanstack/preact-query'
import { ApiError } from 'fx-protection-client'
import type { ComponentChildren } from 'preact'
import { serviceUrl } from '../base.ts'

/** Why something could not be read, what to do, and a button that tries again. */
export const Problem = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) => {
  const message = error instanceof Error ? error.message : String(error)
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{error instanceof ApiError && error.status === 404 ? 'Not found.' : 'This could not be read.'}</strong>{' '}
        {message.slice(0, 300)}
        {error instanceof ApiError && (
          <>
            {' '}
            <a href={`${serviceUrl}/v1/docs/guide/errors#${error.code}`}>What this means</a>
          </>
        )}
      </p>
      {retry && !(error instanceof ApiError && error.status === 400) && (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

type Place = {
  /** What will be there: lines of a text, rows of a table, a chart, cards with one each, or a page. */
  readonly shape?: 'lines' | 'rows' | 'small-chart' | 'chart' | 'cards' | 'page'
  /** How many lines or rows. */
  readonly lines?: number
}

/** How many parts the other shapes have. A page has a title, a sentence and two cards. */
const parts: Readonly<Partial<Record<NonNullable<Place['shape']>, number>>> = {
  'small-chart': 1,
  chart: 1,
  cards: 3,
  page: 4,
}

/** A place for a value that is being read, about as high as the value will be, so that little moves when it is there. */
export const Loading = ({ shape = 'lines', lines = 3 }: Place) => (
  <div class={`loading ${shape}`} role="status" aria-label="Loading">
    {Array.from({ length: parts[shape] ?? lines }, (_, line) => (
      <div key={line} />
    ))}
  </div>
)

export const Empty = ({ children }: { readonly children: ComponentChildren }) => <p class="empty">{children}</p>

type Shown<T> = Place & {
  readonly of: Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>
  readonly children: (data: T) => ComponentChildren
}

/**
 * What was read, or that it is being read, or why it could not be. Older values stay when a later read fails: the
 * frame of the page has since when.
 */
export function Read<T>({ of: { data, error, refetch }, children, ...place }: Shown<T>) {
  return (
    <div class="read">
      {data !== undefined ? (
        children(data)
      ) : error !== null ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : (
        <Loading {...place} />
      )}
    </div>
  )
}

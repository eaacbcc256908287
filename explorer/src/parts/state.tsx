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
      {retry && (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** A place for a value that is being read, as high as the value will be. */
export const Loading = ({ lines = 3 }: { readonly lines?: number }) => (
  <div class="loading" role="status" aria-label="Loading">
    {Array.from({ length: lines }, (_, line) => (
      <div key={line} />
    ))}
  </div>
)

export const Empty = ({ children }: { readonly children: ComponentChildren }) => <p class="empty">{children}</p>

type Shown<T> = {
  readonly of: Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>
  readonly lines?: number
  readonly children: (data: T) => ComponentChildren
}

/** What was read, or that it is being read, or why it could not be. Older values stay when a later read fails. */
export function Read<T>({ of: { data, error, refetch }, lines = 3, children }: Shown<T>) {
  return (
    <div class="read">
      {data !== undefined ? (
        children(data)
      ) : error !== null ? (
        <Problem error={error} retry={() => void refetch()} />
      ) : (
        <Loading lines={lines} />
      )}
    </div>
  )
}

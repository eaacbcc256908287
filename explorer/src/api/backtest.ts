import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { ApiError, type PostResult, type RequestBody } from 'fx-protection-client'
import { useEffect } from 'preact/hooks'
import { client } from './client.ts'
import { noteRequest } from './requests.ts'

const PATH = '/v1/pricing/backtest'

/** How often the page asks again while the engine prepares a history. */
const MOST = 6

/** The milliseconds to wait while the engine prepares the history of a pair; undefined for any other error. */
export const preparingMs = (error: unknown): number | undefined =>
  error instanceof ApiError && error.status === 503 && error.details?.some(({ path }) => path === 'pair')
    ? error.retryAfterMs
    : undefined

/**
 * The past prices of a range; null while they are not asked for. While the engine prepares the history, `failureReason`
 * is its answer and the request is repeated, at most six times.
 */
export const useBacktest = (body: RequestBody<typeof PATH> | null): UseQueryResult<PostResult<typeof PATH>> => {
  const text = body === null ? null : JSON.stringify(body)
  useEffect(() => (text === null ? undefined : noteRequest(PATH, {}, text)), [text])
  return useQuery({
    queryKey: [PATH, text],
    // Without the repetitions of the client, so that the page can show what it waits for.
    queryFn: ({ signal }) => client.post(PATH, body as RequestBody<typeof PATH>, { signal, attempts: 1 }),
    enabled: text !== null,
    retry: (failures, error) => failures < MOST && preparingMs(error) !== undefined,
    retryDelay: (_, error) => preparingMs(error) ?? 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { GetPath, GetResult, Params } from 'fx-protection-client'
import { useEffect } from 'preact/hooks'
import { client } from './client.ts'
import { noteRequest } from './requests.ts'

/** How often values of an open page are read again, in milliseconds. An unchanged answer is a 304. */
const LIVE_MS = 5_000

type Options = {
  /** False: not read yet, for example without a wallet. */
  readonly enabled?: boolean
  /** Reads it again while the page is open. */
  readonly live?: boolean
}

/**
 * The answer of a GET of the API, kept while another page of the same list loads. The request is shown in "Requests of
 * this page".
 *
 * @example const { data } = useApi('/v1/hedge/events', { state: 'open' }, { live: true })
 */
export const useApi = <P extends GetPath>(
  path: P,
  params: Params<P>,
  { enabled = true, live = false }: Options = {},
): UseQueryResult<GetResult<P>> => {
  const key = JSON.stringify(params)
  useEffect(() => (enabled ? noteRequest(path, Object(params)) : undefined), [path, key, enabled])
  return useQuery({
    queryKey: [path, key],
    queryFn: ({ signal }) => (client.get as (...given: unknown[]) => Promise<GetResult<P>>)(path, params, { signal }),
    enabled,
    placeholderData: keepPreviousData,
    refetchInterval: live ? LIVE_MS : false,
  })
}

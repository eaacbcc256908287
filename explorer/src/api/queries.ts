import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { GetPath, GetResult, Params, PostPath, PostResult, RequestBody } from 'fx-protection-client'
import { useEffect, useState } from 'preact/hooks'
import { client } from './client.ts'
import { noteRequest } from './requests.ts'
import { isSameList } from './same-list.ts'

/** How often values of an open page are read again, in milliseconds. An unchanged answer is a 304. */
const LIVE_MS = 5_000

type Options = {
  /** False: not read yet, for example without a wallet. */
  readonly enabled?: boolean
  /** Reads it again while the page is open. */
  readonly live?: boolean
}

/**
 * The answer of a GET of the API. That of another page or filter of the same list stays as a placeholder while this one
 * loads; that of anything else never does. The request is shown in "Requests of this page".
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
    placeholderData: (previous, query) =>
      query?.queryKey[0] === path && isSameList(JSON.parse(`${query.queryKey[1]}`), Object(params))
        ? previous
        : undefined,
    refetchInterval: live ? LIVE_MS : false,
  })
}

/** How long a person pauses before what they typed is sent, in milliseconds. */
const PAUSE_MS = 400

/** A value as it was when it last stayed the same for a moment. */
export const useSettled = <T>(value: T): T => {
  const [settled, setSettled] = useState(value)
  const key = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [key])
  return settled
}

type PostOptions = {
  /** Sends it again while the page is open, after this many milliseconds. */
  readonly everyMs?: number
}

/**
 * The answer of a POST of the API; `body` is null while there is nothing to ask for. An older answer of the same path
 * stays while a new one is on its way: it is then a placeholder.
 *
 * @example const plan = usePost('/v1/plans/deposit', body, { everyMs: 15_000 })
 */
export const usePost = <P extends PostPath>(
  path: P,
  body: RequestBody<P> | null,
  { everyMs }: PostOptions = {},
): UseQueryResult<PostResult<P>> => {
  const text = body === null ? null : JSON.stringify(body)
  useEffect(() => (text === null ? undefined : noteRequest(path, {}, text)), [path, text])
  return useQuery({
    queryKey: [path, text],
    queryFn: ({ signal }) => client.post(path, body as RequestBody<P>, { signal }),
    enabled: text !== null,
    placeholderData: (previous, query) => (query?.queryKey[0] === path ? previous : undefined),
    refetchInterval: everyMs ?? false,
  })
}

import type { Transport } from './transport.ts'
import type {
  Arguments,
  CallOptions,
  DeletePath,
  DeleteResult,
  GetPath,
  GetResult,
  Params,
  PathOfDelete,
  PathOfPost,
  PostPath,
  PostResult,
  QueryOfPost,
  RequestBody,
} from './types.ts'
import type { Given } from './url.ts'

/** What is not repeated by itself, because the second request would change something once more. */
const callOf = (path: string, call: CallOptions): CallOptions =>
  path.startsWith('/v1/webhooks') ? { attempts: 1, ...call } : call

/** The operations of the API by their paths. The description is the only list of them. */
export const createRequests = (transport: Transport) => ({
  /**
   * Reads a path. Its parameters are those of the path and of the query together.
   *
   * @example
   * const { data, headers } = await api.get('/v1/hedge/events/{chainId}/{id}', { chainId: 8453, id: 1 })
   */
  get: <P extends GetPath>(path: P, ...[params, call]: Arguments<Params<P>, CallOptions>): Promise<GetResult<P>> =>
    transport.send({ path, params: params as Given }, call) as Promise<GetResult<P>>,
  /**
   * Sends a JSON body. It is retried like a read, because every request of the API can be repeated, except those for
   * webhooks: they are sent once unless `attempts` is given. `params` has the parameters of the path.
   *
   * @example
   * const { data } = await api.post('/v1/tx/hedge/deposit', { chainId: 8453, eventId: 1, amount: 5_000_000n })
   */
  post: <P extends PostPath>(
    path: P,
    body: RequestBody<P>,
    { query, params, ...call }: CallOptions & { readonly query?: QueryOfPost<P>; readonly params?: PathOfPost<P> } = {},
  ): Promise<PostResult<P>> =>
    transport.send(
      { path, params: { ...(query as Given), ...(params as Given) }, body, method: 'POST' },
      callOf(path, call),
    ) as Promise<PostResult<P>>,
  /** Removes what a path names. It is sent once unless `attempts` is given. */
  delete: <P extends DeletePath>(path: P, params: PathOfDelete<P>, call: CallOptions = {}): Promise<DeleteResult<P>> =>
    transport.send({ path, params: params as Given, method: 'DELETE' }, callOf(path, call)) as Promise<DeleteResult<P>>,
})

export type Requests = ReturnType<typeof createRequests>

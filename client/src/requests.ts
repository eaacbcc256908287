import type { Transport } from './transport.ts'
import type {
  Arguments,
  CallOptions,
  GetPath,
  GetResult,
  Params,
  PostPath,
  PostResult,
  QueryOfPost,
  RequestBody,
} from './types.ts'
import type { Given } from './url.ts'

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
   * Sends a JSON body. Every request of the API can be repeated, so it is retried like a read.
   *
   * @example
   * const { data } = await api.post('/v1/tx/hedge/deposit', { chainId: 8453, eventId: 1, amount: 5_000_000n })
   */
  post: <P extends PostPath>(
    path: P,
    body: RequestBody<P>,
    { query, ...call }: CallOptions & { readonly query?: QueryOfPost<P> } = {},
  ): Promise<PostResult<P>> => transport.send({ path, params: query as Given, body }, call) as Promise<PostResult<P>>,
})

export type Requests = ReturnType<typeof createRequests>

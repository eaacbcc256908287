import type { components, paths } from './api.generated.ts'
import type { GivenHeaders } from './headers.ts'

/** The schemas of the API description, with amounts as bigint. */
export type Schemas = components['schemas']

type Json<Body = unknown> = { readonly responses: { readonly 200: { content: { 'application/json': Body } } } }

/** The paths that are read with GET, and those that take a JSON body. */
export type GetPath = { [P in keyof paths]: paths[P] extends { get: Json } ? P : never }[keyof paths]
export type PostPath = { [P in keyof paths]: paths[P] extends { post: Json } ? P : never }[keyof paths]

export type DeletePath = { [P in keyof paths]: paths[P] extends { delete: Json } ? P : never }[keyof paths]

/** The paths that return a paginated list. */
export type ListPath = {
  [P in GetPath]: Params<P> extends { cursor?: unknown } ? ('cursor' extends keyof Params<P> ? P : never) : never
}[GetPath]

type Get<P extends GetPath> = paths[P]['get']
type Post<P extends PostPath> = paths[P]['post']
type Delete<P extends DeletePath> = paths[P]['delete']

type PathOf<O> = O extends { parameters: { path: infer T } } ? T : unknown

/** A text parameter may be a list: its values are sent separated by commas. */
type Listed<T> = {
  [K in keyof T]: string extends NonNullable<T[K]> ? T[K] | number | readonly (string | number)[] : T[K]
}
type QueryOf<O> = O extends { parameters: { query?: infer T } }
  ? [T] extends [undefined]
    ? unknown
    : Listed<T>
  : unknown

type BodyOf<O> = O extends Json<infer Body> ? Body : never

/** The parameters of a path, whether they are in the path or in the query. */
export type Params<P extends GetPath> = PathOf<Get<P>> & QueryOf<Get<P>>
export type PathOfPost<P extends PostPath> = PathOf<Post<P>>
export type PathOfDelete<P extends DeletePath> = PathOf<Delete<P>>
export type QueryOfPost<P extends PostPath> = QueryOf<Post<P>>
export type RequestBody<P extends PostPath> =
  Post<P> extends { requestBody: { content: { 'application/json': infer Body } } } ? Body : undefined

/** A response: its body and its headers. */
export type GetResult<P extends GetPath> = BodyOf<Get<P>> & { readonly headers: Headers }
export type PostResult<P extends PostPath> = BodyOf<Post<P>> & { readonly headers: Headers }
export type DeleteResult<P extends DeletePath> = BodyOf<Delete<P>> & { readonly headers: Headers }

export type Row<P extends ListPath> = BodyOf<Get<P>> extends { data: (infer T)[] } ? T : never

/** Parameters may be left out when all are optional. */
export type Arguments<Given, Options> =
  Record<never, never> extends Given ? [params?: Given, options?: Options] : [params: Given, options?: Options]

export type CallOptions = {
  readonly signal?: AbortSignal
  /** The most that one attempt may take, from 1 to 2,147,483,647 milliseconds, in addition to `waitMs` of the request. */
  readonly timeoutMs?: number
  /** Attempts of the request, the first one included: from 1 to 1,000. */
  readonly attempts?: number
  /** They replace those of the client with the same names. */
  readonly headers?: GivenHeaders
}

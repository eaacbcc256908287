import type { FailureName } from './openapi/failures.ts'
import type { HeaderName } from './openapi/texts.ts'

/** What a route says of itself beyond its schemas; the rest of its description follows from those. */
export type Operation = {
  /** Derived from method and path when not said. */
  readonly id?: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** The errors it may answer with, besides a 404 and those that every route of its kind shares. */
  readonly failures?: readonly FailureName[]
  /** What a 404 says for the path parameters of the examples, given as they are in a path. */
  readonly missing?: (params: Readonly<Record<string, string>>) => string
  /** True when it wants a bearer token. */
  readonly bearer?: boolean
  /** The headers of a success, besides the request's id. */
  readonly headers?: readonly HeaderName[]
  /** The payload for the example body, where the schemas' own examples do not make it. */
  readonly example?: (body: unknown) => unknown
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly operation?: Operation
  }
}

/** What every answer about the chain says of where it comes from. */
export const freshnessHeaderNames = [
  'X-Data-Source',
  'X-Block-Number',
  'X-Block-Hash',
  'X-Block-Timestamp',
  'X-Stale',
] as const satisfies Operation['headers']

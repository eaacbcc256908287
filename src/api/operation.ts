import { z } from 'zod'
import { ErrorBody } from '../lib/http/problem.ts'
import type { Inclusion } from '../protocol/rows.ts'
import { RevertedMeta, revertedField } from '../reads/freshness/reverted.ts'
import { ListingMeta } from '../reads/lists/records.ts'
import type { Table } from './csv/columns.ts'
import type { FailureName } from './openapi/failures.ts'
import type { HeaderName } from './openapi/texts.ts'
import { perSchema } from './schema.ts'

/** The part of a route's OpenAPI description that does not follow from its schemas. */
export type Operation = {
  /** Derived from method and path by default. */
  readonly id?: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** Errors that are neither a 404, nor of every route (429, 500, 503), nor implied by the input. */
  readonly failures?: readonly FailureName[]
  /** The message of a 404 for the example values of the path parameters. */
  readonly missing?: (params: Readonly<Record<string, string>>) => string
  /** True when the route requires a bearer token. */
  readonly bearer?: boolean
  /** True when the route requires the key of an integrator. */
  readonly apiKey?: boolean
  /** The headers of a success, in addition to `X-Request-Id`. */
  readonly headers?: readonly HeaderName[]
  /** The table of the success as CSV, by the records that rows include. */
  readonly csv?: (include: readonly Inclusion[]) => Table
  /** True when the success is a stream of server-sent events. */
  readonly stream?: boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly operation?: Operation
  }
}

const PageMeta = z
  .object({ limit: z.int().positive(), hasMore: z.boolean(), nextCursor: z.string().nullable(), ...revertedField })
  .meta({ id: 'PageMeta' })

/** The same data has the same envelope, so that its serializer is compiled once. */
const oncePerSchema = <W extends (data: z.ZodType) => z.ZodType>(wrap: W): W => perSchema(wrap) as W

/** The body of a success, with the payload under `data`. */
export const envelope = oncePerSchema(<D extends z.ZodType>(data: D) => z.object({ data }))

/** The body of a read that takes `afterTx`, with `meta` when that transaction reverted. */
export const readEnvelope = oncePerSchema(<D extends z.ZodType>(data: D) =>
  z.object({ data, meta: RevertedMeta.optional() }),
)

/** The body of a list, with `meta` when the list is paginated or the transaction of `afterTx` reverted. */
export const pagedEnvelope = oncePerSchema(<D extends z.ZodType>(data: D) =>
  z.object({ data, meta: PageMeta.optional() }),
)

/** The body of a page of rows. */
export const listingEnvelope = oncePerSchema(<D extends z.ZodType>(data: D) => z.object({ data, meta: ListingMeta }))

type Input = { readonly params?: z.ZodObject; readonly querystring?: z.ZodObject; readonly body?: z.ZodType }

/** The options of a route of the OpenAPI description: its input, and the bodies of its success and of its errors. */
export const route = (operation: Operation, success: z.ZodType, input: Input = {}) => ({
  schema: { ...input, response: { 200: success, '4xx': ErrorBody, '5xx': ErrorBody } },
  config: { operation },
})

/** The schemas of such a route. */
export type RouteSchema = ReturnType<typeof route>['schema']

/** The headers of every response about the chain that report its source and block. */
export const freshnessHeaderNames = [
  'X-Data-Source',
  'X-Block-Number',
  'X-Block-Hash',
  'X-Block-Timestamp',
  'X-Stale',
] as const satisfies Operation['headers']

/** The headers of every page of a list of the index. */
export const listHeaderNames = [
  ...freshnessHeaderNames,
  'X-Index-Lag',
  'X-Transaction',
  'Link',
  'ETag',
  'Cache-Control',
  'Vary',
  'Server-Timing',
] as const satisfies Operation['headers']

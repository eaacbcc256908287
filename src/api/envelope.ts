import { z } from 'zod'
import { ErrorBody } from '../lib/problem.ts'
import { ListingMeta } from '../reads/listing-records.ts'

const PageMeta = z
  .object({ limit: z.int().positive(), hasMore: z.boolean(), nextCursor: z.string().nullable() })
  .meta({ id: 'PageMeta' })

/** The body of a success: the payload under `data`. */
export const envelope = <D extends z.ZodType>(data: D) => z.object({ data })

/** The body of a list: `meta` is there when it came in pages. */
export const pagedEnvelope = <D extends z.ZodType>(data: D) => z.object({ data, meta: PageMeta.optional() })

/** The body of a page of rows. */
export const listingEnvelope = <D extends z.ZodType>(data: D) => z.object({ data, meta: ListingMeta })

/** The errors every route may answer with, for its response schemas. */
export const errorResponses = { '4xx': ErrorBody, '5xx': ErrorBody } as const

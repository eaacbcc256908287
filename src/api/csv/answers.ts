import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify'
import { MAX_ROWS } from '../../db/queries/listings.ts'
import { invalidField, ServiceError } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import { type Freshness, freshnessHeaders } from '../../reads/freshness/freshness.ts'
import { MAX_CSV_ROWS } from '../../reads/lists/query.ts'
import { prefersCsv } from '../accept.ts'
import { addressOf, onResponseEnd } from '../client.ts'
import type { RateLimit } from '../limits/rate-limit.ts'
import { linkHeader } from '../link.ts'
import type { createStreamCapacity } from '../streams/shared.ts'
import type { Table } from './columns.ts'

/** The part of a query that selects a page, and the rest of it that matters here. */
type PageQuery = { readonly limit?: number | undefined; readonly cursor?: string | undefined }
type CsvQuery = PageQuery & { readonly ids?: readonly number[] | undefined; readonly count?: boolean | undefined }

type Page = {
  readonly rows: readonly object[]
  readonly meta: {
    readonly nextCursor: string | null
    readonly asOf: readonly { readonly reorgedSince: boolean }[]
    readonly missing?: readonly number[] | undefined
    readonly completeFrom?: readonly { readonly chainId: ChainId; readonly blockNumber: number }[] | undefined
  }
  readonly freshness: Freshness
}

/** Reads a page in the turn of its client. */
type ReadPage = (query: PageQuery) => Promise<Page>

type Deps = {
  /** The places of answers that are being sent, which streams of events share. */
  readonly capacity: Pick<ReturnType<typeof createStreamCapacity>, 'take'>
  /** Null for no limit. */
  readonly limit: Pick<RateLimit, 'count'> | null
  /** Rows that are read at once. */
  readonly pageRows?: number | undefined
}

/** For routes with a `format`: a request that names none has the one that its `Accept` prefers. */
export const chooseFormat: preValidationHookHandler = (request, _, done) => {
  const query = Object(request.query)
  if (query.format === undefined && prefersCsv(request.headers.accept)) query.format = 'csv'
  done()
}

/** The name of the file of a list: with the ids, the wallet and the times that the request names, `positions-0x1234…-2026-09-30`. */
const fileNameOf = ({ name }: Table, url: string): string => {
  const [path = '', query] = url.split('?')
  const given = new URLSearchParams(query)
  const ofPath = path.split('/').filter((part) => /^(\d+|0x[\da-f]{40})$/i.test(part))
  const parts = [...ofPath, ...['wallet', 'from', 'to', 'at'].flatMap((field) => given.get(field) ?? [])]
  // A list of wallets is too long for a name.
  const short = parts.filter((part) => !part.includes(',')).map((part) => part.replace(/[^\w-]/g, '').slice(0, 42))
  return [name, ...short].join('-')
}

/** An error for the log of the framework, which has the causes of errors too: those may contain a node's URL. */
const withoutCause = (fault: unknown): unknown => (fault instanceof ServiceError ? new Error(fault.message) : fault)

/** Whether a reorg removed blocks that the page is as of. */
const isReorged = ({ meta }: Page): boolean => meta.asOf.some(({ reorgedSince }) => reorgedSince)

/** Throws for what JSON shows in `meta` and CSV has no place for. */
const requireWhole = (page: Page): void => {
  const [id] = page.meta.missing ?? []
  if (id !== undefined)
    throw invalidField('ids', `${id} does not exist: leave it out, or take JSON, which lists such ids in meta.missing`)
  if (isReorged(page))
    throw new ServiceError('conflict', 'a reorg removed blocks that the rows before are as of: begin without cursor')
}

/** Creates the CSV answers of lists. */
export const createCsvAnswers = ({ capacity, limit, pageRows = MAX_ROWS }: Deps) => {
  /** The header, and the lines of each page. All pages are as of the block of the first one. */
  async function* textsOf(table: Table, first: Page, most: number, next: ReadPage): AsyncGenerator<string, void> {
    yield table.header
    let written = 0
    for (let page = first; ; ) {
      written += page.rows.length
      const cursor = page.meta.nextCursor
      const isEnd = cursor === null || written >= most
      yield table.lines(page.rows, isEnd ? cursor : null)
      if (isEnd) return
      page = await next({ cursor, limit: Math.min(pageRows, most - written) }).catch((fault: unknown) => {
        throw withoutCause(fault)
      })
      if (isReorged(page)) throw new Error('a reorg removed blocks that the answer is as of')
    }
  }

  return {
    /**
     * Sends a list page by page, as fast as the client reads it: up to `limit` rows. A failure of the first page is an
     * ordinary error. One of a later page ends the connection, so that no client takes a part for the whole, and so does
     * a reorg in between. Each page counts as a request. Throws `validation_error` for what only JSON can show, `conflict`
     * when a reorg removed blocks since `cursor` was made, and as `take` of the capacity does.
     */
    async send(
      request: FastifyRequest<{ Querystring: CsvQuery }>,
      reply: FastifyReply,
      table: Table,
      read: ReadPage,
    ): Promise<FastifyReply> {
      const { ids, cursor, count, limit: most = MAX_CSV_ROWS } = request.query
      if (count === true) throw invalidField('count', 'expected no value: CSV has no place for the number of rows')
      const address = addressOf(request)
      onResponseEnd(reply.raw, capacity.take(address))
      // A list of ids is one page, and takes no limit.
      const first = await read({ cursor, limit: ids === undefined ? Math.min(pageRows, most) : request.query.limit })
      requireWhole(first)
      const from = first.meta.completeFrom?.map((it) => `${it.chainId}=${it.blockNumber}`).join(', ')
      const next: ReadPage = async (query) => {
        await limit?.count(address, 'incr')
        return read(query)
      }
      reply.headers({
        ...freshnessHeaders(first.freshness),
        ...(from !== undefined && { 'x-complete-from': from }),
        ...(first.rows.length >= most && linkHeader(request.url, first.meta.nextCursor)),
        'content-type': 'text/csv; charset=utf-8; header=present',
        'content-disposition': `attachment; filename="${fileNameOf(table, request.url)}.csv"`,
        'cache-control': 'no-store',
      })
      // The framework reads the whole body of a response without one.
      return reply.send(Readable.from(request.method === 'HEAD' ? [] : textsOf(table, first, most, next)))
    },
  }
}

export type CsvAnswers = ReturnType<typeof createCsvAnswers>

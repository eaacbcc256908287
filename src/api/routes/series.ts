import { z } from 'zod'
import type { FinalityCache } from '../../reads/freshness/finality.ts'
import { freshnessHeaders } from '../../reads/freshness/freshness.ts'
import { protocolSeries } from '../../reads/series/protocol.ts'
import * as query from '../../reads/series/query.ts'
import { DepositPoint, EventPoint, ProtocolPoint, seriesBody, WalletPoint } from '../../reads/series/records.ts'
import {
  depositSeries,
  eventSeries,
  type Series,
  type SeriesQuery,
  type SeriesSources,
} from '../../reads/series/series.ts'
import { walletSeries } from '../../reads/series/wallet.ts'
import { clientOf } from '../client.ts'
import { type CsvAnswers, chooseFormat } from '../csv/answers.ts'
import { tableOf } from '../csv/columns.ts'
import { freshnessHeaderNames, type Operation, route } from '../operation.ts'
import { areFinal, type CachedRoutes, PAST, REVALIDATE } from '../response-cache/cache.ts'

/** A series is one page. */
type Query = SeriesQuery & { readonly format?: 'json' | 'csv'; readonly limit?: undefined; readonly cursor?: undefined }

/** A series: the schemas of its input and of its points, and how it is read. */
type SeriesRoute<P = never, Q = never> = Pick<Operation, 'tag' | 'summary' | 'missing'> & {
  readonly path: `/${string}`
  readonly name: string
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  readonly point: z.ZodObject
  /** Whether it may read the past of many events. */
  readonly isLong: boolean
  readonly read: (sources: SeriesSources, params: P, query: Q) => Promise<Series>
}

const series = <P extends z.ZodObject, Q extends z.ZodObject>(
  it: Omit<SeriesRoute<z.output<P>, z.output<Q>>, 'params' | 'query'> & { readonly params: P; readonly query: Q },
): SeriesRoute => it

/** Every series. To add one, add a row. */
const table: readonly SeriesRoute[] = [
  series({
    path: '/hedge/events/:chainId/:id/series',
    name: 'event-series',
    tag: 'Events',
    summary: 'The figures of an event over time',
    missing: ({ chainId, id }) => `event ${id} does not exist on chain ${chainId}`,
    params: query.EntityParams,
    query: query.EventSeriesQuery,
    point: EventPoint,
    isLong: false,
    read: eventSeries,
  }),
  series({
    path: '/hedge/deposits/:chainId/:id/series',
    name: 'deposit-series',
    tag: 'Deposits',
    summary: 'The figures of an LP deposit over time',
    missing: ({ chainId, id }) => `deposit ${id} does not exist on chain ${chainId}`,
    params: query.EntityParams,
    query: query.DepositSeriesQuery,
    point: DepositPoint,
    isLong: false,
    read: depositSeries,
  }),
  series({
    path: '/wallets/:addr/series',
    name: 'wallet-series',
    tag: 'Wallets',
    summary: 'The totals of a wallet over time, for each chain and token',
    params: query.WalletParams,
    query: query.WalletSeriesQuery,
    point: WalletPoint,
    isLong: true,
    read: walletSeries,
  }),
  series({
    path: '/series',
    name: 'series',
    tag: 'Protocol',
    summary: 'The totals of the protocol over time, for each chain and token',
    params: z.object({}),
    query: query.ProtocolSeriesQuery,
    point: ProtocolPoint,
    isLong: true,
    read: protocolSeries,
  }),
]

const DESCRIPTION =
  'Follows from the logs of the protocol: each point equals the state at the end of the last block not after its time. A 503 has the reason where the logs do not lead to the state of the chain.'

/** Mounts every series. */
export const seriesRoutes: CachedRoutes<{
  readonly sources: SeriesSources & { readonly finality: Pick<FinalityCache, 'isFinal'> }
  readonly csv: CsvAnswers
}> = async (app, { sources, turns, csv }) => {
  for (const { path, name, tag, summary, missing, params, query, point, isLong, read } of table) {
    const csvTable = tableOf(name, point, Object.keys(point.shape))
    const operation: Operation = {
      ...{ tag, summary, description: DESCRIPTION },
      ...(missing && { missing }),
      headers: [...freshnessHeaderNames, 'X-Index-Lag', 'Cache-Control', 'Vary', 'Server-Timing'],
      csv: () => csvTable,
    }
    app.get<{ Querystring: Query }>(
      path,
      { ...route(operation, seriesBody(point), { params, querystring: query }), preValidation: chooseFormat },
      async (request, reply) => {
        const client = clientOf(request)
        const inTurn = isLong ? turns.long : turns.page
        const answer = () => inTurn(client, () => read(sources, request.params as never, request.query as never))
        const { metric } = request.query
        if (request.query.format === 'csv') {
          const shown = metric ?? Object.keys(point.shape)
          return csv.send(request, reply, tableOf(name, point, shown), async () => {
            const { rows, freshness } = await answer()
            return { rows, freshness, meta: { nextCursor: null, asOf: [] } }
          })
        }
        const { rows, meta, freshness, isPast } = await answer()
        // A figure that is not known yet can become known.
        const isKnown = rows.every((row) => Object.values(row).every((value) => value !== null))
        const isLasting = isPast && isKnown && (await areFinal(sources.finality, meta.to))
        reply.headers({ ...freshnessHeaders(freshness), 'cache-control': isLasting ? PAST : REVALIDATE })
        return { data: rows, meta }
      },
    )
  }
}

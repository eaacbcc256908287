import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { z } from 'zod'
import { ofWallet } from '../../db/scopes.ts'
import { resourceOf } from '../../reads/changes.ts'
import { afterRefresh, awaitIndex } from '../../reads/consistency.ts'
import { freshnessHeaders } from '../../reads/freshness.ts'
import { chainsOf } from '../../reads/listing-resource.ts'
import { type Portfolios, portfoliosOf } from '../../reads/portfolio.ts'
import {
  Portfolio,
  PortfolioBody,
  PortfolioParams,
  PortfolioQuery,
  PortfoliosQuery,
} from '../../reads/portfolio-records.ts'
import type { Sources } from '../../reads/read.ts'
import type { Waits } from '../../reads/waits.ts'
import { envelope, errorResponses } from '../envelope.ts'
import { freshnessHeaderNames, type Operation } from '../operation.ts'
import { DATED_MS, REVALIDATE, type ResponseCache } from '../response-cache/cache.ts'
import { waiterOf } from '../waiter.ts'

/** Bytes of a list of 100 wallets, with room for white space. */
const WALLETS_LIMIT = 16_384

const about = {
  tag: 'Wallets',
  description:
    'From the index. Beside each amount that can be claimed is the request that builds its transaction. What is known of each chain, and how fresh, is in `chains`; 503 only when nothing is known of any, or not what `minBlock` or `afterTx` asks for.',
  failures: ['service_unavailable'],
  headers: [...freshnessHeaderNames, 'X-Index-Lag', 'Server-Timing'],
} as const satisfies Partial<Operation>

const answered = (reply: FastifyReply, { freshness }: Portfolios, data: string): FastifyReply => {
  reply.headers(freshnessHeaders(freshness)).type('application/json; charset=utf-8')
  return reply.send(`{"data":${data}}`)
}

/** Mounts what wallets have, one by one and many at once. */
export const portfolioRoutes: FastifyPluginAsync<{
  readonly sources: Sources
  readonly waits: Waits
  readonly cache: ResponseCache
}> = async (app, { sources, waits, cache }) => {
  const one: Operation = {
    ...about,
    summary: "A wallet's positions, deposits and events, and what it can claim",
    headers: [...about.headers, 'ETag', 'Cache-Control', 'Vary'],
  }
  app.get<{ Params: z.output<typeof PortfolioParams>; Querystring: z.output<typeof PortfolioQuery> }>(
    '/wallets/:addr/portfolio',
    {
      schema: {
        params: PortfolioParams,
        querystring: PortfolioQuery,
        response: { 200: envelope(Portfolio), ...errorResponses },
      },
      config: { operation: one },
    },
    async (request, reply) => {
      const { params, query } = request
      const chainIds = chainsOf(query.chainId)
      const atLeast = await awaitIndex(waits, waiterOf(request), chainIds, PortfolioQuery, query, { observed: true })
      if (cache.check(resourceOf(chainIds, ofWallet(params.addr)), request, reply)) return reply
      const asked = { wallets: [params.addr], chainIds, state: query.state, atLeast }
      const found = await afterRefresh(waits, waiterOf(request), () => portfoliosOf(sources, asked))
      reply.header('cache-control', REVALIDATE)
      if (found.isIndexed) cache.tag(request, reply, found.freshness, DATED_MS)
      return answered(reply, found, found.records.join())
    },
  )

  const many: Operation = { ...about, summary: 'The same of up to 100 wallets, in their order' }
  app.post<{ Body: z.output<typeof PortfolioBody>; Querystring: z.output<typeof PortfoliosQuery> }>(
    '/wallets/portfolio',
    {
      schema: {
        body: PortfolioBody,
        querystring: PortfoliosQuery,
        response: { 200: envelope(z.array(Portfolio)), ...errorResponses },
      },
      bodyLimit: WALLETS_LIMIT,
      config: { operation: many },
    },
    async (request, reply) => {
      const { body, query } = request
      const atLeast = await awaitIndex(waits, waiterOf(request), chainsOf(body.chainIds), PortfoliosQuery, query, {
        chainField: 'chainIds',
        observed: true,
      })
      const found = await afterRefresh(waits, waiterOf(request), () => portfoliosOf(sources, { ...body, atLeast }))
      return answered(reply, found, `[${found.records.join()}]`)
    },
  )
}

import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { ofWallet } from '../../db/changes/scopes.ts'
import { resourceOf } from '../../reads/cache/resources.ts'
import { afterRefresh, awaitIndex } from '../../reads/freshness/consistency.ts'
import { freshnessHeaders } from '../../reads/freshness/freshness.ts'
import { type Portfolios, portfoliosOf } from '../../reads/listings/portfolio.ts'
import {
  Portfolio,
  PortfolioBody,
  PortfolioParams,
  PortfolioQuery,
  PortfoliosQuery,
} from '../../reads/listings/portfolio-records.ts'
import { chainsOf } from '../../reads/listings/resource.ts'
import type { ListSources } from '../../reads/listings/sources.ts'
import { clientOf } from '../client.ts'
import { envelope, freshnessHeaderNames, type Operation, route } from '../operation.ts'
import { type CachedRoutes, LAG_MAX_AGE_MS, REVALIDATE } from '../response-cache/cache.ts'

/** Largest body in bytes: a list of 100 wallets and white space. */
const WALLETS_LIMIT = 16_384

const about = {
  tag: 'Wallets',
  description:
    'Reads the index. Each claimable amount comes with the request that builds its claim transaction. `chains` reports the status and freshness of each chain. The response is a 503 only when the data of every chain is unavailable, or older than `minBlock` or `afterTx` requires.',
  headers: [...freshnessHeaderNames, 'X-Index-Lag', 'Server-Timing'],
} as const satisfies Partial<Operation>

const sendPortfolios = (reply: FastifyReply, { freshness }: Portfolios, data: string): FastifyReply => {
  reply.headers(freshnessHeaders(freshness)).type('application/json; charset=utf-8')
  return reply.send(`{"data":${data}}`)
}

/** Mounts the portfolio of one wallet and of several wallets. */
export const portfolioRoutes: CachedRoutes<{ readonly sources: ListSources }> = async (app, options) => {
  const { sources, waits, cache } = options
  const one: Operation = {
    ...about,
    summary: "Retrieve a wallet's positions, deposits, events and claimable amounts",
    headers: [...about.headers, 'ETag', 'Cache-Control', 'Vary'],
  }
  app.get<{ Params: z.output<typeof PortfolioParams>; Querystring: z.output<typeof PortfolioQuery> }>(
    '/wallets/:addr/portfolio',
    route(one, envelope(Portfolio), { params: PortfolioParams, querystring: PortfolioQuery }),
    async (request, reply) => {
      const { params, query } = request
      const chainIds = chainsOf(query.chainId)
      const atLeast = await awaitIndex(waits, clientOf(request), chainIds, query, { observed: true })
      if (cache.check(resourceOf(chainIds, ofWallet(params.addr)), request, reply)) return reply
      const portfolioQuery = { wallets: [params.addr], chainIds, state: query.state, atLeast }
      const found = await afterRefresh(waits, clientOf(request), () => portfoliosOf(sources, portfolioQuery))
      reply.header('cache-control', REVALIDATE)
      if (found.isIndexed) cache.tag(request, reply, found.freshness, LAG_MAX_AGE_MS)
      return sendPortfolios(reply, found, found.records.join())
    },
  )

  const many: Operation = {
    ...about,
    summary: 'Retrieve the portfolios of up to 100 wallets, in the order of the request',
  }
  app.post<{ Body: z.output<typeof PortfolioBody>; Querystring: z.output<typeof PortfoliosQuery> }>(
    '/wallets/portfolio',
    {
      ...route(many, envelope(z.array(Portfolio)), { body: PortfolioBody, querystring: PortfoliosQuery }),
      bodyLimit: WALLETS_LIMIT,
    },
    async (request, reply) => {
      const { body, query } = request
      const atLeast = await awaitIndex(waits, clientOf(request), chainsOf(body.chainIds), query, {
        chainField: 'chainIds',
        observed: true,
      })
      const found = await afterRefresh(waits, clientOf(request), () => portfoliosOf(sources, { ...body, atLeast }))
      return sendPortfolios(reply, found, `[${found.records.join()}]`)
    },
  )
}

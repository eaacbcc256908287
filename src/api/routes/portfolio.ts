import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { z } from 'zod'
import { freshnessHeaders } from '../../reads/freshness.ts'
import { type Portfolios, portfoliosOf } from '../../reads/portfolio.ts'
import { Portfolio, PortfolioBody, PortfolioParams, PortfolioQuery } from '../../reads/portfolio-records.ts'
import type { Sources } from '../../reads/read.ts'
import { envelope, errorResponses } from '../envelope.ts'
import type { Operation } from '../operation.ts'

const about = {
  tag: 'Wallets',
  description:
    'From the index. Beside each amount that can be claimed is the request that builds its transaction. What is known of each chain, and how fresh, is in `chains`; 503 only when nothing is known of any.',
  failures: ['service_unavailable'],
  headers: ['X-Data-Source', 'X-Block-Number', 'X-Block-Hash', 'X-Block-Timestamp', 'X-Stale'],
} as const

const answered = (reply: FastifyReply, { freshness }: Portfolios, data: string): FastifyReply => {
  reply.headers(freshnessHeaders(freshness)).type('application/json; charset=utf-8')
  return reply.send(`{"data":${data}}`)
}

/** Mounts what wallets have, one by one and many at once. */
export const portfolioRoutes: FastifyPluginAsync<{ readonly sources: Sources }> = async (app, { sources }) => {
  const one: Operation = { ...about, summary: "A wallet's positions, deposits and events, and what it can claim" }
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
    async ({ params, query }, reply) => {
      const found = await portfoliosOf(sources, { wallets: [params.addr], chainIds: query.chainId, state: query.state })
      return answered(reply, found, found.records.join())
    },
  )

  const many: Operation = { ...about, summary: 'The same of up to 100 wallets, in their order' }
  app.post<{ Body: z.output<typeof PortfolioBody> }>(
    '/wallets/portfolio',
    {
      schema: { body: PortfolioBody, response: { 200: envelope(z.array(Portfolio)), ...errorResponses } },
      config: { operation: many },
    },
    async ({ body }, reply) => {
      const found = await portfoliosOf(sources, body)
      return answered(reply, found, `[${found.records.join()}]`)
    },
  )
}

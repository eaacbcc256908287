import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { ofKind, ofWallet } from '../../db/changes/scopes.ts'
import { invalidField } from '../../lib/errors.ts'
import { showsValues } from '../../protocol/rows.ts'
import { resourceOf } from '../../reads/cache/resources.ts'
import { afterRefresh, awaitHead, awaitIndex } from '../../reads/freshness/consistency.ts'
import { freshnessHeaders } from '../../reads/freshness/freshness.ts'
import type { RevertedMeta } from '../../reads/freshness/reverted.ts'
import { requireAlone } from '../../reads/history/at.ts'
import { chainsOf } from '../../reads/lists/resource.ts'
import type { ListSources } from '../../reads/lists/sources.ts'
import { balancesOf } from '../../reads/portfolio/balances.ts'
import { Balances, BalancesQuery } from '../../reads/portfolio/balances-records.ts'
import { portfoliosInParts } from '../../reads/portfolio/parts.ts'
import { type Portfolios, portfoliosOf } from '../../reads/portfolio/portfolio.ts'
import {
  Portfolio,
  PortfolioBody,
  PortfolioParams,
  PortfolioQuery,
  PortfoliosQuery,
} from '../../reads/portfolio/records.ts'
import { bytesOf } from '../bytes.ts'
import { clientOf } from '../client.ts'
import { freshnessHeaderNames, type Operation, readEnvelope, route } from '../operation.ts'
import { areFinal, type CachedRoutes, LAG_MAX_AGE_MS, PAST, REVALIDATE } from '../response-cache/cache.ts'
import { markReverted } from '../reverted.ts'

/** Largest body in bytes: a list of 100 wallets and white space. */
const WALLETS_LIMIT = 16_384

/** Made once, so that its serializer is compiled once. */
const PortfolioList = z.array(Portfolio)

const about = {
  tag: 'Wallets',
  description:
    'Reads the index. Each claimable amount comes with the request that builds its claim transaction. `chains` reports the status and freshness of each chain. The response is a 503 only when the data of every chain is unavailable, or older than `minBlock` or `afterTx` requires.',
  headers: [...freshnessHeaderNames, 'X-Index-Lag', 'X-Transaction', 'Server-Timing'],
} as const satisfies Partial<Operation>

const sendPortfolios = (
  reply: FastifyReply,
  { freshness }: Portfolios,
  data: readonly string[],
  meta: RevertedMeta | undefined,
): FastifyReply => {
  reply.headers(freshnessHeaders(freshness)).type('application/json; charset=utf-8')
  return reply.send(bytesOf('{"data":', ...data, meta === undefined ? '}' : `,"meta":${JSON.stringify(meta)}}`))
}

const textOf = (portfolio: z.output<typeof Portfolio>): string => JSON.stringify(portfolio)

type Include = z.output<typeof PortfoliosQuery>['include']

/** What rows show in addition. */
const inclusionsOf = (include: Include) => (include ?? []).filter((name) => name !== 'balances')

/** Whether the response changes without a change of the index. */
const isLive = (include: Include): boolean => include?.includes('balances') === true || showsValues(include)

/** Adds the balances of the same wallets to portfolios. */
const addBalances = async (sources: ListSources, asked: Parameters<typeof balancesOf>[1]) => {
  const { records } = await balancesOf(sources, asked)
  return (portfolio: z.output<typeof Portfolio>, at: number): z.output<typeof Portfolio> => ({
    ...portfolio,
    balances: records[at],
  })
}

/** Whether a query is about the past. Then it must not ask for what only the present has. */
const isAboutPast = (query: z.output<typeof PortfoliosQuery>): boolean => {
  if (query.at === undefined) return false
  requireAlone(query, ['minBlock', 'afterTx'])
  if (isLive(query.include)) throw invalidField('include', 'values and balances cannot be combined with at')
  return true
}

/** Mounts the portfolio of one wallet and of several wallets. */
export const portfolioRoutes: CachedRoutes<{ readonly sources: ListSources }> = async (app, options) => {
  const { sources, waits, turns, cache } = options
  const one: Operation = {
    ...about,
    summary: "Retrieve a wallet's positions, deposits, events and claimable amounts",
    headers: [...about.headers, 'ETag', 'Cache-Control', 'Vary'],
  }
  app.get<{ Params: z.output<typeof PortfolioParams>; Querystring: z.output<typeof PortfolioQuery> }>(
    '/wallets/:addr/portfolio',
    route(one, readEnvelope(Portfolio), { params: PortfolioParams, querystring: PortfolioQuery }),
    async (request, reply) => {
      const { params, query } = request
      const client = clientOf(request)
      const chainIds = chainsOf(query.chainId)
      const atLeast = await awaitIndex(waits, client, chainIds, query, { observed: true })
      const reverted = markReverted(reply, atLeast)
      const include = inclusionsOf(query.include)
      const live = isLive(query.include)
      // With the summaries of events, a change of any event may change the response, as in lists.
      const scopes = [ofWallet(params.addr), ...(include.length > 0 ? [ofKind('event')] : [])]
      const isPast = isAboutPast(query)
      if (!live && !isPast && (await cache.check(resourceOf(chainIds, ...scopes), request, reply))) return reply
      const wallets = [params.addr]
      const asked = { wallets, chainIds, state: query.state, include, atLeast: atLeast?.block ?? null, at: query.at }
      const [found, withBalances] = await Promise.all([
        afterRefresh(waits, client, () => turns.page(client, () => portfoliosOf(sources, asked))),
        query.include?.includes('balances') === true ? addBalances(sources, { ...asked, client, turns }) : null,
      ])
      const isLasting = isPast && found.isIndexed && (await areFinal(sources.finality, found.records[0]?.chains ?? []))
      reply.header('cache-control', live ? 'no-store' : isLasting ? PAST : REVALIDATE)
      if (withBalances !== null)
        return sendPortfolios(reply, found, found.records.map(withBalances).map(textOf), reverted)
      if (found.isIndexed && !isPast) cache.tag(request, reply, found.freshness, LAG_MAX_AGE_MS)
      return sendPortfolios(reply, found, found.records.map(textOf), reverted)
    },
  )

  const held: Operation = {
    tag: 'Wallets',
    summary: "Retrieve a wallet's coins, payment tokens and allowances for the protocol",
    description:
      'Reads each chain at one pinned block. `chains` reports the status of each chain. The response is a 503 only when no chain can be read, or when it is older than `minBlock` or `afterTx` requires.',
    headers: [...freshnessHeaderNames, 'X-Transaction', 'Cache-Control', 'Server-Timing'],
  }
  app.get<{ Params: z.output<typeof PortfolioParams>; Querystring: z.output<typeof BalancesQuery> }>(
    '/wallets/:addr/balances',
    route(held, readEnvelope(Balances), { params: PortfolioParams, querystring: BalancesQuery }),
    async (request, reply) => {
      const { params, query } = request
      const client = clientOf(request)
      const chainIds = chainsOf(query.chainId)
      const atLeast = await awaitHead(waits, client, chainIds, query)
      const meta = markReverted(reply, atLeast)
      const asked = { client, turns, wallets: [params.addr], chainIds, atLeast: atLeast?.block ?? null }
      const { records, freshness, fault } = await balancesOf(sources, asked)
      if (fault !== null) throw fault
      reply.headers({ ...freshnessHeaders(freshness), 'cache-control': 'no-store' })
      return { data: records[0], ...(meta && { meta }) }
    },
  )

  const many: Operation = {
    ...about,
    summary: 'Retrieve the portfolios of up to 100 wallets, in the order of the request',
    description: `${about.description} A few wallets are read at a time, so portfolios can be as of different blocks: \`chains\` of each names its own, and the headers name the oldest.`,
  }
  app.post<{ Body: z.output<typeof PortfolioBody>; Querystring: z.output<typeof PortfoliosQuery> }>(
    '/wallets/portfolio',
    {
      ...route(many, readEnvelope(PortfolioList), { body: PortfolioBody, querystring: PortfoliosQuery }),
      bodyLimit: WALLETS_LIMIT,
    },
    async (request, reply) => {
      const { body, query } = request
      const client = clientOf(request)
      const chainIds = chainsOf(body.chainIds)
      const atLeast = await awaitIndex(waits, client, chainIds, query, {
        chainField: 'chainIds',
        observed: true,
      })
      const reverted = markReverted(reply, atLeast)
      isAboutPast(query)
      const asked = {
        ...{ ...body, chainIds, include: inclusionsOf(query.include) },
        ...{ atLeast: atLeast?.block ?? null, at: query.at },
      }
      const [found, withBalances] = await Promise.all([
        afterRefresh(waits, client, () => turns.long(client, () => portfoliosInParts(sources, asked))),
        query.include?.includes('balances') === true ? addBalances(sources, { ...asked, client, turns }) : null,
      ])
      if (isLive(query.include)) reply.header('cache-control', 'no-store')
      const records = withBalances === null ? found.records : found.records.map(withBalances)
      const list = records.map((record, at) => (at === 0 ? textOf(record) : `,${textOf(record)}`))
      return sendPortfolios(reply, found, ['[', ...list, ']'], reverted)
    },
  )
}

import type { FastifyPluginAsync } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isUnavailable } from '../../../lib/errors.ts'
import type { ChainId } from '../../../protocol/chains.ts'
import { type HealthSources, readinessOf } from '../../../reads/health/health.ts'
import { prefersHtml } from '../../accept.ts'
import { envelope, type Operation, route } from '../../operation.ts'
import { shellOf } from '../../pages/assets/assets.ts'
import { PAGE_POLICY } from '../../pages/html.ts'
import { Landing, landingOf, landingPage } from '../../pages/landing.ts'
import { DrawnEvent, eventFigure, liquidityOf } from '../../pages/payoff.ts'

const operation: Operation = {
  id: 'getLanding',
  tag: 'Service',
  summary: 'Retrieve the start page',
  description:
    'Returns what the service is, whether it is ready, and where its documentation is. A client that prefers `text/html`, such as a browser, gets the same as a page.',
}

type Options = {
  readonly sources: HealthSources
  /** Reads the newest open events of chains, as rows of `GET /v1/hedge/events` with `include=utilization`. */
  readonly openEvents: (
    chainIds: readonly ChainId[],
    limit: number,
  ) => Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Reads the fees of a chain, as `GET /v1/hedge/fees` has them; undefined while they are out of reach. */
  readonly feesOf: (chainId: ChainId) => Promise<object | undefined>
  /** Whether the explorer is served. */
  readonly explorer?: boolean
}

/** How long the picture shows the same event, in milliseconds. */
const PICTURE_MS = 10_000

/** The picture shows one of this many events, the newest ones. */
const MOST_EVENTS = 20

/** `/`: for browsers a page, for programs the same as JSON. */
export const landingRoutes: FastifyPluginAsync<Options> = async (app, options) => {
  const { sources, openEvents, feesOf, explorer = true } = options
  const chains = [...sources.chains.values()].map(({ deployment }) => deployment)
  /** Reads the event with the fullest pool that can be drawn. The picture is not worth a failure of the page. */
  const drawnEvent = async (chainIds: readonly ChainId[]): Promise<DrawnEvent | null> => {
    const rows = await openEvents(chainIds, MOST_EVENTS).catch((fault: unknown) => {
      if (!isUnavailable(fault)) throw fault
      return []
    })
    const fees = new Map(await Promise.all(chainIds.map(async (id) => [id, await feesOf(id)] as const)))
    const drawn = rows.flatMap((row) => DrawnEvent.safeParse({ ...row, ...fees.get(Number(row.chainId)) }).data ?? [])
    return drawn.toSorted((a, b) => liquidityOf(b) - liquidityOf(a))[0] ?? null
  }
  /** One read serves all visits for some seconds. */
  const pictures = new LRUCache<string, { readonly event: DrawnEvent | null }>({
    max: 1,
    ttl: PICTURE_MS,
    fetchMethod: async (ids) => ({ event: await drawnEvent(ids.split(',').filter(Boolean).map(Number)) }),
  })
  const pictureOf = async ({ chains }: ReturnType<typeof landingOf>): Promise<string | undefined> => {
    const ready = chains.filter(({ problem }) => problem === null)
    const { event } = await pictures.forceFetch(ready.map(({ chainId }) => chainId).join())
    if (event === null) return undefined
    const { chainId, id } = event
    const chain = ready.find((it) => it.chainId === chainId)?.name ?? String(chainId)
    return eventFigure(event, chain, explorer ? `explorer/event/${chainId}/${id}` : undefined)
  }
  app.get('/', route(operation, envelope(Landing)), async (request, reply) => {
    const states = chains.map(async ({ chainId, name }) => {
      const problem = await readinessOf(sources, chainId).then(() => null, reasonOf)
      return { chainId, name, problem }
    })
    const data = landingOf(await Promise.all(states))
    if (!prefersHtml(request.headers.accept)) return { data }
    reply.header('content-security-policy', PAGE_POLICY).type('text/html; charset=utf-8')
    const origin = `${request.protocol}://${request.host}`
    return landingPage(await shellOf('./', explorer), data, origin, await pictureOf(data))
  })
}

const reasonOf = (fault: unknown): string => {
  if (!isUnavailable(fault)) throw fault
  return fault.message
}

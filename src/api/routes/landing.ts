import type { FastifyPluginAsync } from 'fastify'
import Negotiator from 'negotiator'
import { isUnavailable } from '../../lib/errors.ts'
import { type HealthSources, readinessOf } from '../../reads/health/health.ts'
import { envelope, type Operation, route } from '../operation.ts'
import { PAGE_POLICY } from '../pages/html.ts'
import { Landing, landingOf, landingPage } from '../pages/landing.ts'

const operation: Operation = {
  id: 'getLanding',
  tag: 'Service',
  summary: 'Retrieve the start page',
  description:
    'Returns what the service is, whether it is ready, and where its documentation is. A client that prefers `text/html`, such as a browser, gets the same as a page.',
}

type Options = { readonly sources: HealthSources }

/** `/`: for browsers a page, for programs the same as JSON. */
export const landingRoutes: FastifyPluginAsync<Options> = async (app, { sources }) => {
  const chains = [...sources.chains.values()].map(({ deployment }) => deployment)
  app.get('/', route(operation, envelope(Landing)), async (request, reply) => {
    const states = chains.map(async ({ chainId, name }) => {
      const problem = await readinessOf(sources, chainId).then(() => null, reasonOf)
      return { chainId, name, problem }
    })
    const data = landingOf(await Promise.all(states))
    const { accept = '*/*' } = request.headers
    const [type] = new Negotiator({ headers: { accept } }).mediaTypes(['application/json', 'text/html'])
    if (type !== 'text/html') return { data }
    reply.header('content-security-policy', PAGE_POLICY).type('text/html; charset=utf-8')
    return landingPage(data, `${request.protocol}://${request.host}`)
  })
}

const reasonOf = (fault: unknown): string => {
  if (!isUnavailable(fault)) throw fault
  return fault.message
}

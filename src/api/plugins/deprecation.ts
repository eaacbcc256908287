import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { relativeUrl } from '../link.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** When the removal of the route was announced, and when it may be removed. */
    readonly deprecated?: { readonly since: Date; readonly sunset: Date }
  }
}

/** The notice before a removal under `/v1`, in months, by the specification. */
const NOTICE_MONTHS = 6

/**
 * Adds headers to every response of a deprecated route, errors included: `Deprecation` (RFC 9745), `Sunset` (RFC 8594)
 * and a link to the changelog. Mounting a route with less than six months between both dates throws a RangeError.
 *
 * @example
 * const deprecated = { since: new Date('2027-01-01'), sunset: new Date('2027-07-01') }
 * app.get('/old', { config: { deprecated } }, handler)
 */
export const deprecation = fp(async (app) => {
  app.addHook('onRoute', (route) => {
    if (route.config?.deprecated === undefined) return
    const { since, sunset } = route.config.deprecated
    const earliest = new Date(since)
    earliest.setUTCMonth(earliest.getUTCMonth() + NOTICE_MONTHS)
    if (sunset < earliest)
      throw new RangeError(`${route.url} may not be removed before ${earliest.toISOString()}: set a later sunset`)
    const headers = {
      deprecation: `@${Math.floor(since.getTime() / 1000)}`,
      sunset: sunset.toUTCString(),
    }
    const announce = async ({ url }: FastifyRequest, reply: FastifyReply) =>
      void reply.headers({
        ...headers,
        link: `<${relativeUrl(url, 'v1/changelog')}>; rel="deprecation"; type="application/json"`,
      })
    route.onRequest = [announce, ...[route.onRequest ?? []].flat()]
  })
})

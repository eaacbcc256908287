import fp from 'fastify-plugin'

/** When a route's removal was announced and when it may come. */
type Deprecated = { readonly since: Date; readonly sunset: Date }

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly deprecated?: Deprecated
  }
}

/** The specification's notice before anything under `/v1` goes. */
const NOTICE_MONTHS = 6

const earliest = (since: Date): Date => {
  const date = new Date(since)
  date.setUTCMonth(date.getUTCMonth() + NOTICE_MONTHS)
  return date
}

/**
 * A route whose config says `deprecated` tells so in every response, errors included: `Deprecation` (RFC 9745), `Sunset` (RFC 8594)
 * and a link to the changelog. Mounting one with less than six months between the two throws a RangeError.
 *
 * @example app.get('/old', { config: { deprecated: { since: new Date('2027-01-01'), sunset: new Date('2027-07-01') } } }, handler)
 */
export const deprecation = fp(async (app) => {
  app.addHook('onRoute', (route) => {
    const deprecated = route.config?.deprecated
    if (deprecated === undefined) return
    const { since, sunset } = deprecated
    if (sunset < earliest(since))
      throw new RangeError(`${route.url} may not go before ${earliest(since).toISOString()}`)
    const headers = {
      deprecation: `@${Math.floor(since.getTime() / 1000)}`,
      sunset: sunset.toUTCString(),
      link: '</v1/changelog>; rel="deprecation"; type="application/json"',
    }
    route.onRequest = [
      async (_, reply) => void reply.headers(headers),
      ...(route.onRequest === undefined ? [] : [route.onRequest].flat()),
    ]
  })
})

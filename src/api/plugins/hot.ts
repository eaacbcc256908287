import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Reached } from '../../db/changes.ts'
import type { Resource } from '../../reads/changes.ts'
import { freshnessHeaders } from '../../reads/freshness.ts'
import type { Conditional } from '../conditional.ts'
import type { Page } from '../pages.ts'
import { isStream } from '../streams.ts'
import { corsHeaders } from './cors.ts'
import { securityHeaders } from './security.ts'

/** A header list as Node takes it without looking at each: names and values in turn. */
export const flat = (headers: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(headers).flatMap(([name, value]) => [name, String(value)])

/** A page that the client has keeps the headers it came with: a 304 says again only what may differ, and what lets a browser read it. */
const always = flat({ ...corsHeaders, vary: 'accept' })
const whole = [...always, ...flat(securityHeaders), 'content-type', 'application/json; charset=utf-8']

declare module 'fastify' {
  interface FastifyRequest {
    /** The page that was answered before and still holds; null for none. */
    kept: Page | null
  }
}

const limitNames = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'] as const

const limitsOf = (reply: FastifyReply) => Object.fromEntries(limitNames.map((name) => [name, reply.getHeader(name)]))

/** The headers that say of when an answer is. */
const freshnessOfThe = ({ freshnessOf, reached }: Conditional): ((resource: Resource) => string[]) => {
  /** Those of a chain's newest state, which is one for many requests. */
  const told = new WeakMap<Reached, string[]>()
  return (resource) => {
    const [chainId, another] = resource.chainIds
    const state = chainId === undefined || another !== undefined ? undefined : reached(chainId)
    const known = state && told.get(state)
    if (known !== undefined) return known
    const headers = flat(freshnessHeaders(freshnessOf(resource)))
    if (state !== undefined) told.set(state, headers)
    return headers
  }
}

const senderOf = (conditional: Conditional) => {
  const freshness = freshnessOfThe(conditional)
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    { etag, cacheControl, resource, link }: Page,
    body: string | null,
  ): void => {
    const headers = (body === null ? always : whole).concat(
      freshness(resource),
      ['x-request-id', request.id, 'etag', etag, 'cache-control', cacheControl],
      ['server-timing', `app;dur=${reply.elapsedTime.toFixed(2)}`],
    )
    if (reply.hasHeader('ratelimit-limit')) headers.push(...flat(limitsOf(reply)))
    if (link !== undefined) headers.push('link', link)
    if (body !== null) headers.push('content-length', String(Buffer.byteLength(body)))
    reply.hijack()
    reply.raw.writeHead(body === null ? 304 : 200, headers)
    reply.raw.end(body)
  }
}

/**
 * Before anything else is done about a request: looks for what was answered before and did not change since, and answers 304 when the
 * request has its tag.
 */
export const unchanged = fp<{ readonly conditional: Conditional }>(async (app, { conditional }) => {
  const { pages, holds, isCurrent } = conditional
  const send = senderOf(conditional)

  app.decorateRequest('known', null)
  app.decorateRequest('page', null)
  app.decorateRequest('kept', null)
  app.addHook('onSend', (request, reply, payload, done) => {
    conditional.keep(request, reply, payload)
    done(null, payload)
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, raw } = request
    // A stream has the URL of a page.
    const page = method === 'GET' && !isStream(headers.accept) ? pages.get(raw.url ?? '') : undefined
    if (page === undefined || !isCurrent(page.resource) || !holds(page.resource, page.tag)) return done()
    if (request.headers['if-none-match'] === page.etag) return send(request, reply, page, null)
    request.kept = page
    done()
  })
})

/** Then gives it again as it is, as long as the index can answer for it. */
export const kept = fp<{ readonly conditional: Conditional }>(async (app, { conditional }) => {
  const send = senderOf(conditional)

  app.addHook('onRequest', (request, reply, done) => {
    const page = request.kept
    if (page === null || page.body === null || performance.now() > page.until) return done()
    if (request.headers['if-none-match'] !== undefined) return done()
    send(request, reply, page, page.body)
  })
})

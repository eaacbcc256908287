import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Changes, Resource } from '../../reads/changes.ts'
import type { Freshness } from '../../reads/freshness.ts'
import type { RateLimit } from '../rate-limit.ts'
import { rawClientOf } from '../waiter.ts'
import { createDecision } from './decide.ts'
import { lastingHeaders, notModifiedHeaders } from './entry.ts'
import type { Pins } from './pins.ts'
import type { Store } from './store.ts'
import { encodeTag, pinOf, type Tag } from './tags.ts'

/** What was known of a resource before it was read, so that what is read is at least as new; and the tag of what was read. */
type Reading = {
  readonly resource: Resource
  readonly version: number
  /** The block that the index had reached; null for more than one chain. */
  readonly block: bigint | null
  /** Null before it was read, and where the answer cannot be told by a tag. */
  tagged: { readonly tag: Tag; readonly until: number } | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where the answer depends on nothing that the cache follows. */
    reading: Reading | null
  }
}

/** It may be stored, and has to be asked for whether it still holds. */
export const REVALIDATE = 'public, no-cache'
/** A stream, which is never the same twice. */
export const NEVER = 'no-store'
/** A body that says how far the index was is sent again for so long at most, in milliseconds: it says so in seconds. */
export const DATED_MS = 1_000
/** Settled and final. Not for longer, since an upgrade of the protocol may change what is read of a settled event. */
export const LASTING = 'public, max-age=30'

type Deps = {
  readonly changes: Changes
  readonly pins: Pins
  readonly store: Store
  /** Null for no limit. */
  readonly limit: RateLimit | null
  readonly trustedProxies: number
}

/**
 * The response cache. A tag holds as long as nothing touches the resource it is of, and whether that is so is known in memory: an answer
 * of 304 asks neither database nor node.
 */
export const createResponseCache = (deps: Deps) => {
  const { changes, pins, store } = deps
  const decision = createDecision(deps)
  const clientOf = rawClientOf(deps.trustedProxies)

  /** The tag of an answer that was read after `check`; null when it cannot be told by one. */
  const tagOf = ({ version, resource, block: known }: Reading, { source, block, stale }: Freshness): Tag | null => {
    if (stale) return null
    if (source === 'database') return { version, pin: null }
    const [chainId] = resource.chainIds
    // A node that lags shows what the index knows to be over; one whose index has to look for changes may be ahead of it unseen.
    if (chainId === undefined || block === undefined || known === null || block.number < known) return null
    if (changes.reached(chainId)?.look?.byLogs !== true) return null
    pins.add(chainId, block)
    return { version, pin: pinOf(block) }
  }

  return {
    /** At a time as `performance.now`. */
    decide: (request: FastifyRequest['raw'], now: number) => decision.decide(request, clientOf, now),
    send: decision.send,
    reached: changes.reached,

    /**
     * Before a resource is read: answers 304 when the request has a tag that holds, and gives true then. Else remembers what is known, for
     * the answer's own tag.
     */
    check(resource: Resource, request: FastifyRequest, reply: FastifyReply): boolean {
      if (!changes.isCurrent(resource.chainIds)) return false
      const asked = request.headers['if-none-match']
      const etag = asked === undefined ? null : decision.heldTag(resource, asked)
      if (etag !== null) {
        reply.headers({ etag, 'cache-control': REVALIDATE })
        const lasting = notModifiedHeaders(lastingHeaders(reply.getHeaders()))
        reply.hijack()
        decision.sendNotModified(
          reply.raw,
          [...lasting, ...decision.freshnessOf(resource)],
          request.id,
          reply.elapsedTime,
        )
        return true
      }
      const [chainId, ...others] = resource.chainIds
      const block = chainId === undefined || others.length > 0 ? null : (changes.reached(chainId)?.block.number ?? null)
      request.reading = { resource, version: changes.version(resource), block, tagged: null }
      return false
    },

    /**
     * Puts its tag on an answer that was read after `check`, where it has one. What the index gave is sent again as it is for `keepMs`; of what
     * the chain gave only the tag is kept.
     */
    tag({ reading }: FastifyRequest, reply: FastifyReply, freshness: Freshness, keepMs: number): void {
      const tag = reading && tagOf(reading, freshness)
      if (reading === null || tag === null) return
      reply.header('etag', encodeTag(tag))
      reading.tagged = { tag, until: performance.now() + keepMs }
    },

    /** Keeps a tagged answer as it was sent, before it is compressed. */
    keep({ reading, url, routeOptions }: FastifyRequest, reply: FastifyReply, payload: unknown): void {
      if (reading?.tagged == null || reply.statusCode !== 200 || typeof payload !== 'string') return
      const { config, url: route } = routeOptions
      if (route === undefined || config.operation?.bearer === true) return
      const { tag, until } = reading.tagged
      const { resource } = reading
      const etag = encodeTag(tag)
      const headers = lastingHeaders(reply.getHeaders())
      const bodies = tag.pin === null ? { identity: payload, bytes: Buffer.byteLength(payload) } : null
      store.set(url, { resource, tag, etag, route, headers, bodies, until, hits: 0, lists: null })
    },
  }
}

export type ResponseCache = ReturnType<typeof createResponseCache>

/** Requests that the server has looked up already, so that the framework does not look again. */
const lookedUp = new WeakSet<object>()

/** Notes that a request is not answered from the cache. */
export const markLookedUp = (request: object): void => void lookedUp.add(request)

/** Keeps what is answered, and answers from the cache what came past the server: an injected request. */
export const responseCache = fp<{ readonly cache: ResponseCache }>(async (app, { cache }) => {
  app.decorateRequest('reading', null)
  app.addHook('onSend', (request, reply, payload, done) => {
    cache.keep(request, reply, payload)
    done(null, payload)
  })
  app.addHook('onRequest', (request, reply, done) => {
    const hit = lookedUp.has(request.raw) ? null : cache.decide(request.raw, performance.now())
    if (hit === null) return done()
    reply.hijack()
    cache.send(reply.raw, hit, request.id, reply.elapsedTime)
  })
})

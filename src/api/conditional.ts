import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Changes, lagOfReached, type Resource } from '../reads/changes.ts'
import { type Freshness, freshnessHeaders } from '../reads/freshness.ts'
import type { Pins } from '../reads/pins.ts'
import { decodeTags, encodeTag, pinOf, type Tag } from '../reads/tags.ts'
import type { Page, Pages } from './pages.ts'

/** What was known of a resource before it was read, so that what is read is at least as new. */
export type Known = {
  readonly resource: Resource
  readonly version: number
  /** The block that the index had reached; null for more than one chain. */
  readonly block: bigint | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where the answer cannot be told by a tag. */
    known: Known | null
    /** The answer, where it can; without its body before that is written. */
    page: Page | null
  }
}

/** It may be kept, and has to be asked for whether it still holds. */
export const REVALIDATE = 'public, no-cache'
/** A stream, which is never the same twice. */
export const NEVER = 'no-store'
/** A body that says how far the index was is given again for so long at most, in milliseconds: it says so in seconds. */
export const DATED_MS = 1_000
/** Settled and final. Not for longer, since an upgrade of the protocol may change what is read of a settled event. */
export const LASTING = 'public, max-age=30'

/**
 * Conditional requests. A tag holds as long as nothing touches the resource it is of, and whether that is so is known in memory: an answer
 * of 304 asks neither database nor node.
 */
export const createConditional = (deps: { readonly changes: Changes; readonly pins: Pins; readonly pages: Pages }) => {
  const { changes, pins, pages } = deps

  /** Whether what has this tag is what would be answered now. Asked only while the resource's chains are current. */
  const holds = (resource: Resource, { version, pin }: Tag): boolean => {
    if (version < changes.version(resource) || version > changes.position()) return false
    const [chainId] = resource.chainIds
    return pin === null || (chainId !== undefined && pins.holds(chainId, pin))
  }

  /** What the index says now of a resource that did not change: the headers beside it. */
  const freshnessOf = ({ chainIds }: Resource): Freshness => {
    const all = chainIds.flatMap((chainId) => changes.reached(chainId) ?? [])
    const lagSeconds = Math.max(0, ...all.map((it) => lagOfReached(it) ?? 0))
    const [one] = all
    return { source: 'database', stale: false, lagSeconds, ...(chainIds.length === 1 && one && { block: one.block }) }
  }

  /** The tag of an answer that was read after `check`; null when it cannot be told by one. */
  const tagOf = (known: Known | null, { source, block, stale }: Freshness): Tag | null => {
    if (known === null || stale) return null
    const { version, resource } = known
    if (source === 'database') return { version, pin: null }
    const [chainId] = resource.chainIds
    // A node that lags shows what the index knows to be over; one whose index has to look for changes may be ahead of it unseen.
    if (chainId === undefined || block === undefined || known.block === null || block.number < known.block) return null
    if (changes.reached(chainId)?.look?.byLogs !== true) return null
    pins.add(chainId, block)
    return { version, pin: pinOf(block) }
  }

  return {
    pages,
    holds,
    freshnessOf,
    reached: changes.reached,
    isCurrent: ({ chainIds }: Resource): boolean => changes.isCurrent(chainIds),

    /**
     * Before a resource is read: answers 304 when the request has a tag that holds, and gives true then. Else remembers what is known, for
     * the answer's own tag.
     */
    check(resource: Resource, request: FastifyRequest, reply: FastifyReply): boolean {
      if (!changes.isCurrent(resource.chainIds)) return false
      const asked = request.headers['if-none-match']
      const held = asked === undefined ? undefined : decodeTags(asked).find((tag) => holds(resource, tag))
      if (held !== undefined) {
        reply.headers({
          ...freshnessHeaders(freshnessOf(resource)),
          etag: encodeTag(held),
          'cache-control': REVALIDATE,
        })
        reply.code(304).send()
        return true
      }
      const [chainId, ...others] = resource.chainIds
      const block = chainId === undefined || others.length > 0 ? null : (changes.reached(chainId)?.block.number ?? null)
      request.known = { resource, version: changes.version(resource), block }
      return false
    },

    /**
     * Puts its tag on an answer that was read after `check`, where it has one, and keeps it under that: what the index gave, to be given
     * again as it is for so long; of what the chain gave, that it was.
     */
    tag(request: FastifyRequest, reply: FastifyReply, freshness: Freshness, keepMs: number): void {
      const tag = tagOf(request.known, freshness)
      if (tag === null || request.known === null) return
      const etag = encodeTag(tag)
      reply.header('etag', etag)
      const [cacheControl, link] = [reply.getHeader('cache-control'), reply.getHeader('link')]
      const said = { cacheControl: String(cacheControl), link: link === undefined ? undefined : String(link) }
      request.page = {
        resource: request.known.resource,
        tag,
        etag,
        ...said,
        body: null,
        until: performance.now() + keepMs,
      }
    },

    /** Keeps the body of a tagged answer as it was sent. */
    keep({ page, method, url }: FastifyRequest, reply: FastifyReply, payload: unknown): void {
      if (page === null || method !== 'GET' || reply.statusCode !== 200 || typeof payload !== 'string') return
      pages.set(url, page.tag.pin === null ? { ...page, body: payload } : page)
    },
  }
}

export type Conditional = ReturnType<typeof createConditional>

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ChainId } from '../../protocol/chains.ts'
import type { Changes, Resource } from '../../reads/cache/resources.ts'
import type { FinalityCache } from '../../reads/freshness/finality.ts'
import { type Freshness, freshnessHeaders } from '../../reads/freshness/freshness.ts'
import type { Waits } from '../../reads/freshness/waits.ts'
import { lagOfReached } from '../../reads/lag/lag.ts'
import type { ReadTurns } from '../../reads/turns.ts'
import { isStream, prefersCsv } from '../accept.ts'
import { bytesOf } from '../bytes.ts'
import { isPart, rawAddressOf } from '../client.ts'
import { type Allowance, allowanceHeaders, type RateLimit } from '../limits/rate-limit.ts'
import { isLarge, type Unread } from '../unread.ts'
import { acceptedEncodings, type Encoding, encode, THRESHOLD } from './compress.ts'
import { type Entry, type HeaderList, lastingHeaders, listOf, notModifiedHeaders } from './entry.ts'
import type { ForkBlocks } from './fork-blocks.ts'
import type { Store } from './store.ts'
import { blockRefOf, type Tag, type Tags } from './tags.ts'

/** A response from the cache. Without a body it is a 304. */
type Hit = {
  readonly entry: Entry
  readonly etag: string
  readonly body: Buffer | null
  readonly encoding: Encoding
  readonly allowance: Allowance | null
}

/** The state of a resource before it was read, so that the data is at least as new; and the tag of the response. */
type Reading = {
  readonly resource: Resource
  readonly version: number
  /** The newest indexed block; null for several chains. */
  readonly block: bigint | null
  /** Null before the read, and for a response without a tag. */
  tagged: { readonly tag: Tag; readonly until: number } | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null when the cache does not follow the data of the response. */
    reading: Reading | null
  }
}

/** Caches may store the response, and must revalidate it before each use. */
export const REVALIDATE = 'public, no-cache'
/** How long a body is cached that contains the lag of the index, in milliseconds. The lag is in whole seconds. */
export const LAG_MAX_AGE_MS = 1_000
/** For settled and final data. The time is short, because an upgrade of the protocol may change even those. */
export const SETTLED = 'public, max-age=30'
/** For the state at the end of a final block. */
export const PAST = 'public, max-age=31536000, immutable'

/** Whether no reorg can remove any of these blocks. */
export const areFinal = async (
  finality: Pick<FinalityCache, 'isFinal'>,
  blocks: readonly { readonly chainId: ChainId; readonly blockTimestamp: number | null }[],
): Promise<boolean> => {
  const final = await Promise.all(blocks.map((it) => finality.isFinal(it.chainId, it.blockTimestamp ?? 0)))
  return final.every(Boolean)
}

type Deps = {
  readonly changes: Changes
  readonly forkBlocks: ForkBlocks
  readonly store: Store
  readonly tags: Tags
  /** Null for no limit. */
  readonly limit: RateLimit | null
  readonly trustedProxies: number
  readonly unread: Unread
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

/** Whether a request must not be answered from the cache: it has a body, or asks for a stream, for CSV or an upgrade. */
const bypassesCache = (headers: IncomingHttpHeaders): boolean =>
  headers.expect !== undefined ||
  headers.upgrade !== undefined ||
  headers['content-length'] !== undefined ||
  headers['transfer-encoding'] !== undefined ||
  isStream(headers.accept) ||
  prefersCsv(headers.accept)

/**
 * The encoding in which a client gets a body, of those that exist: a compressed one if it prefers any to the body itself,
 * unless the body is small. Undefined when it accepts none of them.
 */
const chosenEncoding = (headers: IncomingHttpHeaders, body: Buffer, exists: (it: Encoding) => boolean) => {
  const accepted = acceptedEncodings(headers['accept-encoding'])
  const isPlain = body.length < THRESHOLD || accepted[0] === 'identity'
  return accepted.find((it) => (it === 'identity') === isPlain && exists(it))
}

/** Preformatted `Server-Timing` below a millisecond, as nearly all hits have: formatting takes longer than a lookup. */
const timings = Array.from({ length: 100 }, (_, hundredths) => `app;dur=${(hundredths / 100).toFixed(2)}`)

const requestHeaders = (id: string, ms: number): string[] => [
  'x-request-id',
  id,
  'server-timing',
  timings[Math.round(ms * 100)] ?? `app;dur=${ms.toFixed(2)}`,
]

/**
 * Creates the response cache. A tag is valid until its resource changes, and the last change of each resource is known
 * in memory. So a 304 needs neither the database nor a node.
 */
export const createResponseCache = (deps: Deps) => {
  const { changes, forkBlocks, store, tags, limit, trustedProxies, unread, now = () => performance.now() } = deps
  const addressOf = rawAddressOf(trustedProxies)

  const isUnchanged = (resource: Resource, { version }: Tag): boolean =>
    version >= changes.version(resource) && version <= changes.position()

  /** Whether a response with this tag is still current. Only called while the chains of the resource are current. */
  const isValid = (resource: Resource, tag: Tag): boolean => {
    const [chainId] = resource.chainIds
    const { block } = tag
    return (
      isUnchanged(resource, tag) &&
      (block === null || (chainId !== undefined && forkBlocks.isConfirmed(chainId, block)))
    )
  }

  /** Has the block of a tag confirmed, of one only, so that a header without a valid tag costs one request at most. */
  const confirm = async (resource: Resource, header: string): Promise<void> => {
    const [chainId] = resource.chainIds
    const block = tags.decode(header).find((tag) => isUnchanged(resource, tag))?.block
    if (block != null && chainId !== undefined) await forkBlocks.confirm(chainId, block)
  }

  /** Returns the `ETag` of the first valid tag of an `If-None-Match`, compared weakly; null when none is valid. */
  const validTag = (resource: Resource, header: string): string | null => {
    const tag = tags.decode(header).find((it) => isValid(resource, it))
    return tag === undefined ? null : tags.encode(tag)
  }

  /** The current freshness headers of a resource that did not change. */
  const freshnessOf = ({ chainIds }: Resource): HeaderList => {
    const all = chainIds.flatMap((chainId) => changes.reached(chainId) ?? [])
    const lagSeconds = Math.max(0, ...all.map((it) => lagOfReached(it) ?? 0))
    const block = chainIds.length === 1 ? all[0]?.block : undefined
    return listOf(freshnessHeaders({ source: 'database', stale: false, lagSeconds, ...(block && { block }) }))
  }

  /** Returns the header lists of an entry. They change with the newest indexed block, about once a second. */
  const listsOf = (entry: Entry): NonNullable<Entry['lists']> => {
    const { resource, headers, lists } = entry
    const states = resource.chainIds.map(changes.reached)
    if (lists !== null && states.every((state, at) => lists.states[at] === state)) return lists
    const freshness = freshnessOf(resource)
    const notModified = [...notModifiedHeaders(headers), ...freshness]
    entry.lists = { states, whole: [...headers, ...freshness], notModified }
    return entry.lists
  }

  /** Sends a 304 with the headers that may differ from the client's cached response. */
  const sendNotModified = (response: ServerResponse, headers: HeaderList, id: string, ms: number): void => {
    response.writeHead(304, headers.concat(requestHeaders(id, ms))).end()
  }

  /** Makes the tag of a response that was read after `check`; null when it cannot have one. */
  const tagOf = ({ version, resource, block: indexed }: Reading, { source, block, stale }: Freshness): Tag | null => {
    if (stale) return null
    if (source === 'database') return { version, block: null }
    const [chainId] = resource.chainIds
    // A node that lags returns older data than the index. An index that polls may miss changes up to its block.
    if (chainId === undefined || block === undefined || indexed === null || block.number < indexed) return null
    if (changes.reached(chainId)?.heartbeat?.byLogs !== true) return null
    forkBlocks.add(chainId, block)
    return { version, block: blockRefOf(block) }
  }

  return {
    reached: changes.reached,

    /**
     * Decides whether the cache answers a request: with a 304, with a cached body, or not at all (null). It uses only
     * memory. A body counts for the rate limit and as unread, a 304 does not.
     */
    decide(response: ServerResponse): Hit | null {
      const request = response.req
      const { method, url = '', headers } = request
      if (method !== 'GET' && method !== 'HEAD') return null
      const entry = store.get(url)
      if (entry === undefined || bypassesCache(headers)) return null
      const { resource, tag, etag, bodies, until } = entry
      if (!changes.isCurrent(resource.chainIds) || !isValid(resource, tag)) return null
      const header = headers['if-none-match']
      const valid = header === undefined || header === etag ? header : validTag(resource, header)
      if (valid != null) return { entry, etag: valid, body: null, encoding: 'identity', allowance: null }
      if (bodies === null || now() > until) return null
      const encoding = chosenEncoding(headers, bodies.identity, (it) => bodies[it] !== undefined)
      const body = encoding === undefined ? undefined : bodies[encoding]
      // The framework compresses a body for the first client that accepts an encoding of it.
      if (encoding === undefined || body === undefined) return null
      const isCounted = limit !== null && !isPart()
      const allowance = isCounted ? limit.take(addressOf(request)) : null
      // The framework rejects requests above the limit, because it counts exactly.
      if (isCounted && allowance === null) return null
      if (isLarge(body) && method !== 'HEAD' && !unread.add(response, body.length, addressOf(request))) return null
      return { entry, etag, body, encoding, allowance }
    },

    /** Sends a hit. The framework is not involved, so this sets every header. */
    send(response: ServerResponse, { entry, etag, body, encoding, allowance }: Hit, id: string, ms: number): void {
      const { whole, notModified } = listsOf(entry)
      if (body === null) {
        // The client's tag may be older than that of the entry and still be valid.
        const isOther = etag !== entry.etag
        const list = isOther ? notModified.map((value) => (value === entry.etag ? etag : value)) : notModified
        sendNotModified(response, list, id, ms)
        return
      }
      const own = requestHeaders(id, ms)
      own.push('content-length', String(body.length))
      if (encoding !== 'identity') own.push('content-encoding', encoding)
      if (allowance !== null) own.push(...listOf(allowanceHeaders(allowance)))
      response.writeHead(200, whole.concat(own)).end(body)
    },

    /**
     * Called before a resource is read. Sends a 304 and returns true when the request has a valid tag. Otherwise
     * remembers the state of the resource for `tag`, and returns false. Asks a node about the block of a tag of a
     * response from the chain.
     */
    async check(resource: Resource, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
      const header = request.headers['if-none-match']
      if (header !== undefined && validTag(resource, header) === null) await confirm(resource, header)
      if (!changes.isCurrent(resource.chainIds)) return false
      const etag = header === undefined ? null : validTag(resource, header)
      if (etag !== null) {
        reply.headers({ etag, 'cache-control': REVALIDATE })
        const lasting = notModifiedHeaders(lastingHeaders(reply.getHeaders()))
        reply.hijack()
        sendNotModified(reply.raw, [...lasting, ...freshnessOf(resource)], request.id, reply.elapsedTime)
        return true
      }
      const [chainId, ...others] = resource.chainIds
      const block = chainId === undefined || others.length > 0 ? null : (changes.reached(chainId)?.block.number ?? null)
      request.reading = { resource, version: changes.version(resource), block, tagged: null }
      return false
    },

    /**
     * Sets the tag of a response that was read after `check`, if it can have one. A body from the index is cached for
     * `maxAgeMs`; of a response from the chain only the tag is cached.
     */
    tag({ reading }: FastifyRequest, reply: FastifyReply, freshness: Freshness, maxAgeMs: number): void {
      const tag = reading && tagOf(reading, freshness)
      if (reading === null || tag === null) return
      reply.header('etag', tags.encode(tag))
      reading.tagged = { tag, until: now() + maxAgeMs }
    },

    /**
     * Caches a tagged response, and compresses its body for a client that accepts that. Returns the body to send.
     */
    async keep(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
      const { reading, url } = request
      const route = request.routeOptions.url
      if (reading?.tagged == null || reply.statusCode !== 200 || route === undefined) return payload
      if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
      const { tag, until } = reading.tagged
      const entry = { resource: reading.resource, tag, etag: tags.encode(tag), route, until, lists: null }
      const headers = lastingHeaders(reply.getHeaders())
      if (tag.block !== null) {
        store.set(url, { ...entry, headers, bodies: null })
        return payload
      }
      const identity = typeof payload === 'string' ? bytesOf(payload) : payload
      const encoding = chosenEncoding(request.headers, identity, () => true)
      const isCompressed = encoding !== undefined && encoding !== 'identity'
      const body = isCompressed ? await encode(identity, encoding) : identity
      store.set(url, { ...entry, headers, bodies: { identity, ...(isCompressed && { [encoding]: body }) } })
      if (isCompressed) reply.header('content-encoding', encoding)
      return body
    },
  }
}

export type ResponseCache = ReturnType<typeof createResponseCache>

/** Routes whose responses are cached. */
export type CachedRoutes<Options> = FastifyPluginAsync<
  Options & { readonly waits: Waits; readonly turns: ReadTurns; readonly cache: ResponseCache }
>

/** The last request that the cache does not answer. Its hooks run before the next request arrives. */
let lastMiss: object | null = null

/** Records that the cache does not answer a request, so that the hook does not look it up again. */
export const markCacheMiss = (request: object): void => {
  lastMiss = request
}

/** Caches responses, and answers requests from the cache that did not come through the server: injected requests. */
export const responseCache = fp<{ readonly cache: ResponseCache }>(async (app, { cache }) => {
  app.decorateRequest('reading', null)
  app.addHook('onSend', cache.keep)
  app.addHook('onRequest', (request, reply, done) => {
    const hit = lastMiss === request.raw ? null : cache.decide(reply.raw)
    if (hit === null) return done()
    reply.hijack()
    cache.send(reply.raw, hit, request.id, reply.elapsedTime)
  })
})

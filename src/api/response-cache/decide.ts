import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type Changes, lagOfReached, type Resource } from '../../reads/changes.ts'
import { type Freshness, freshnessHeaders } from '../../reads/freshness.ts'
import { type Allowance, allowanceHeaders, type RateLimit } from '../rate-limit.ts'
import { isStream } from '../streams.ts'
import { acceptedEncodings, type Encoding } from './compress.ts'
import { type Bodies, type Entry, type HeaderList, type Lists, listOf, notModifiedHeaders } from './entry.ts'
import type { Pins } from './pins.ts'
import type { Store } from './store.ts'
import { decodeTags, encodeTag, type Tag } from './tags.ts'

/** What a request is answered from the cache; an answer without a body is 304. */
export type Hit = {
  readonly entry: Entry
  readonly etag: string
  readonly body: string | Buffer | null
  readonly encoding: Encoding
  readonly allowance: Allowance | null
}

type Deps = {
  readonly changes: Pick<Changes, 'isCurrent' | 'version' | 'position' | 'reached'>
  readonly pins: Pins
  readonly store: Store
  readonly limit: RateLimit | null
}

/** A request that asks for more than the representation of its URL, or comes with a body. Headers are looked up by name, which is cheap. */
const isSpecial = (headers: IncomingHttpHeaders): boolean =>
  headers.expect !== undefined ||
  headers.upgrade !== undefined ||
  headers['content-length'] !== undefined ||
  headers['transfer-encoding'] !== undefined ||
  (headers.accept?.includes('event-stream') === true && isStream(headers.accept))

/** The timings of nearly all hits, which take less than a millisecond: to format one costs more than to find what was changed. */
const timings = Array.from({ length: 100 }, (_, hundredths) => `app;dur=${(hundredths / 100).toFixed(2)}`)

const ownHeaders = (id: string, ms: number): string[] => [
  'x-request-id',
  id,
  'server-timing',
  timings[Math.round(ms * 100)] ?? `app;dur=${ms.toFixed(2)}`,
]

/**
 * The one decision of the cache: whether a request is answered 304, with a body that was sent before, or has to be read. It waits for nothing and
 * depends on nothing but memory.
 */
export const createDecision = ({ changes, pins, store, limit }: Deps) => {
  /** Whether what has this tag is what would be answered now. Asked only while the resource's chains are current. */
  const holds = (resource: Resource, { version, pin }: Tag): boolean => {
    if (version < changes.version(resource) || version > changes.position()) return false
    const [chainId] = resource.chainIds
    return pin === null || (chainId !== undefined && pins.holds(chainId, pin))
  }

  /** The tag of an `If-None-Match` that holds, as `ETag` shows it; null for none. Tags are compared weakly. */
  const heldTag = (resource: Resource, asked: string): string | null => {
    const held = decodeTags(asked).find((tag) => holds(resource, tag))
    return held === undefined ? null : encodeTag(held)
  }

  /** What the index says now of a resource that did not change. */
  const freshnessOf = ({ chainIds }: Resource): HeaderList => {
    const all = chainIds.flatMap((chainId) => changes.reached(chainId) ?? [])
    const lagSeconds = Math.max(0, ...all.map((it) => lagOfReached(it) ?? 0))
    const [one] = all
    const block = chainIds.length === 1 && one !== undefined ? { block: one.block } : {}
    const freshness: Freshness = { source: 'database', stale: false, lagSeconds, ...block }
    return listOf(freshnessHeaders(freshness))
  }

  /** An entry's header lists, which change once a second with the index's newest block and not from request to request. */
  const listsOf = (entry: Entry): Lists => {
    const { resource, headers, lists } = entry
    if (lists !== null && resource.chainIds.every((chainId, at) => lists.states[at] === changes.reached(chainId)))
      return lists
    const freshness = freshnessOf(resource)
    const states = resource.chainIds.map((chainId) => changes.reached(chainId))
    entry.lists = {
      states,
      whole: [...headers, ...freshness],
      notModified: [...notModifiedHeaders(headers), ...freshness],
    }
    return entry.lists
  }

  /** Answers 304; a client that has the body has the other headers too. */
  const sendNotModified = (response: ServerResponse, headers: HeaderList, id: string, ms: number): void => {
    response.writeHead(304, headers.concat(ownHeaders(id, ms))).end()
  }

  const bestOf = (bodies: Bodies, accepted: readonly Encoding[]): Encoding | undefined =>
    accepted.find((encoding) => bodies[encoding] !== undefined)

  return {
    heldTag,
    freshnessOf,
    sendNotModified,

    /** What the cache answers to a request; null when it has to be read. A body counts for the rate limit, a 304 does not. */
    decide(request: IncomingMessage, clientOf: (request: IncomingMessage) => string, now: number): Hit | null {
      const { method, url = '', headers } = request
      if (method !== 'GET' && method !== 'HEAD') return null
      const entry = store.get(url)
      if (entry === undefined || isSpecial(headers)) return null
      const { resource, tag, etag, bodies, until } = entry
      if (!changes.isCurrent(resource.chainIds) || !holds(resource, tag)) return null
      const asked = headers['if-none-match']
      const held = asked === undefined || asked === etag ? asked : heldTag(resource, asked)
      if (held != null) return { entry, etag: held, body: null, encoding: 'identity', allowance: null }
      if (bodies === null || now > until) return null
      const accepted = acceptedEncodings(headers['accept-encoding'])
      const encoding = bestOf(bodies, accepted)
      if (encoding === undefined) return null
      const allowance = limit?.take(clientOf(request)) ?? null
      // One who asks too often is refused by the framework, which counts exactly.
      if (limit !== null && allowance === null) return null
      if (accepted[0] !== 'identity') store.sent(url, entry)
      return { entry, etag, body: bodies[encoding] ?? null, encoding, allowance }
    },

    /** Answers a request with what was decided. Nothing else is done for it, so every header comes from here. */
    send(response: ServerResponse, { entry, etag, body, encoding, allowance }: Hit, id: string, ms: number): void {
      const { whole, notModified } = listsOf(entry)
      if (body === null) {
        // A tag of the client's may be older than the entry's and hold all the same.
        const isOther = etag !== entry.etag
        const list = isOther ? notModified.map((value) => (value === entry.etag ? etag : value)) : notModified
        sendNotModified(response, list, id, ms)
        return
      }
      const own = ownHeaders(id, ms)
      own.push('content-length', String(typeof body === 'string' ? entry.bodies?.bytes : body.length))
      if (encoding !== 'identity') own.push('content-encoding', encoding)
      if (allowance !== null) own.push(...allowanceHeaders(allowance))
      response.writeHead(200, whole.concat(own)).end(body)
    },
  }
}

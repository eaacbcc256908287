import { setImmediate } from 'node:timers/promises'
import Fastify, { type FastifyReply } from 'fastify'
import { onTestFinished } from 'vitest'
import type { RateLimit } from '../../../src/api/limits/rate-limit.ts'
import { createResponseCache, REVALIDATE, responseCache } from '../../../src/api/response-cache/cache.ts'
import type { ForkBlocks } from '../../../src/api/response-cache/fork-blocks.ts'
import { createStore } from '../../../src/api/response-cache/store.ts'
import { createTags } from '../../../src/api/response-cache/tags.ts'
import { createUnread, type Unread } from '../../../src/api/unread.ts'
import { resourceOf } from '../../../src/reads/cache/resources.ts'
import { type Freshness, freshnessHeaders } from '../../../src/reads/freshness/freshness.ts'
import { blockAt, createFakeChanges, reachedAt } from '../../support/fake-changes.ts'

export const EDITION = 'test'
export const MAX_AGE_MS = 1_000
/** The clock when a test begins. */
const START_MS = 5_000
/** The newest known change when a test begins, and the last one of the resource. */
export const POSITION = 100
export const VERSION = 90

const tags = createTags(EDITION)
/** The tag of a version of the resource, read from the index. */
export const etagOf = (version: number): string => tags.encode({ version, block: null })

type Options = {
  readonly limit?: RateLimit | null
  readonly trustedProxies?: number
  readonly chainIds?: readonly number[]
  readonly unread?: Unread
}

/**
 * An app with one cached route `/page`, whose data is a fake. `read` is what a read does before it returns; `reads`
 * counts reads, so a request that the cache answers leaves it as it is.
 */
export const openCachedApp = async (options: Options = {}) => {
  const { limit = null, trustedProxies = 0, chainIds = [8453], unread = createUnread(1_000_000) } = options
  const index = createFakeChanges()
  const resource = resourceOf(chainIds, 'events')
  for (const chainId of chainIds) index.reach(reachedAt(chainId, 50))
  index.change(VERSION, resource)
  index.change(POSITION)

  const clock = { ms: START_MS }
  const known = {
    confirmed: new Set<number>(),
    /** Blocks that become confirmed when a node is asked. */
    confirmable: new Set<number>(),
    asked: [] as number[],
    added: [] as unknown[],
  }
  const forkBlocks: ForkBlocks = {
    add: (...block) => void known.added.push(block),
    isConfirmed: (_, { number }) => known.confirmed.has(number),
    confirm: async (_, { number }) => {
      known.asked.push(number)
      await setImmediate()
      if (known.confirmable.has(number)) known.confirmed.add(number)
    },
  }
  const store = createStore(2 ** 22)
  const deps = { changes: index.changes, forkBlocks, store, tags, limit, trustedProxies, unread }
  const cache = createResponseCache({ ...deps, now: () => clock.ms })
  const page = {
    reads: 0,
    status: 200,
    freshness: { source: 'database', stale: false, lagSeconds: 0, block: blockAt(50) } as Freshness,
    maxAgeMs: MAX_AGE_MS,
    body: (reads: number): unknown => `read ${reads}`,
    read: (_reply: FastifyReply): void => {},
  }
  const app = Fastify()
  onTestFinished(() => app.close())
  await app.register(responseCache, { cache })
  app.get('/page', async (request, reply) => {
    reply.header('x-transaction', 'none')
    if (await cache.check(resource, request, reply)) return reply
    page.reads += 1
    page.read(reply)
    reply.headers({ ...freshnessHeaders(page.freshness), 'cache-control': REVALIDATE }).code(page.status)
    cache.tag(request, reply, page.freshness, page.maxAgeMs)
    return reply.type('text/plain').send(page.body(page.reads))
  })
  const get = async (headers: Record<string, string> = {}, url = '/page') => app.inject({ url, headers })
  return { app, cache, store, index, resource, clock, known, page, get }
}

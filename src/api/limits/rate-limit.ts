import RedisStore from '@fastify/rate-limit/store/RedisStore.js'
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { ServiceError } from '../../lib/errors.ts'
import type { OutageLog } from '../../lib/observe/outage-log.ts'

/** Where processes that share a rate limit count requests together. */
export type LimitStore = { readonly redis: Redis; readonly prefix: string; readonly outages: OutageLog }

/** A client's limit, its remaining requests, and the seconds until the count restarts. */
export type Allowance = { readonly max: number; readonly remaining: number; readonly reset: number }

/** A client's count, and the milliseconds until it restarts. */
type Count = { readonly current: number; readonly ttl: number }
type Step = 'incr' | 'read'

/** A client's count, its end, and the number of requests that are being sent to the shared store. */
type Window = { current: number; endsAt: number; pending: number }

const MINUTE_MS = 60_000

/** Most clients that one process counts on its own. The least recently seen client is removed. */
const MAX_CLIENTS = 100_000

export const allowanceHeaders = ({ max, remaining, reset }: Allowance) => {
  return { 'ratelimit-limit': max, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset }
}

/** The error of a request above the limit. */
export const rateLimited = ({ max, reset }: Allowance): ServiceError =>
  new ServiceError('rate_limited', `rate limit exceeded: at most ${max} requests a minute`, {
    retryAfter: Math.max(1, reset),
  })

/** Creates the windows of clients, by a clock in milliseconds. A window that is over restarts with a count of 0. */
const createWindows = (maxClients: number) => {
  const windows = new LRUCache<string, Window>({ max: maxClients })
  return (client: string, now: number): Window => {
    const it = windows.get(client) ?? { current: 0, endsAt: 0, pending: 0 }
    if (it.endsAt <= now) Object.assign(it, { current: 0, endsAt: now + MINUTE_MS })
    windows.set(client, it)
    return it
  }
}

/**
 * Counts requests per client and minute: in the Redis of `store`, or in this process without it or while it fails. `now`
 * is a monotonic clock, in milliseconds.
 */
export const createRateLimit = (
  max: number,
  store: LimitStore | undefined,
  { now: clock = () => performance.now(), maxClients = MAX_CLIENTS } = {},
) => {
  const shared = store && {
    outages: store.outages,
    redis: new RedisStore(false, false, store.redis, `${store.prefix}:requests:`),
  }
  let countedLocally = 0
  const localWindowOf = createWindows(maxClients)
  /** The last counts that the shared store returned. */
  const sharedWindowOf = createWindows(maxClients)

  const countLocally = (step: Step, client: string): Count => {
    const now = clock()
    const it = localWindowOf(client, now)
    // The first counted request starts the minute.
    if (step === 'incr' && it.current++ === 0) it.endsAt = now + MINUTE_MS
    return { current: it.current, ttl: it.current === 0 ? 0 : it.endsAt - now }
  }

  const countShared = async ({ redis, outages }: NonNullable<typeof shared>, step: Step, client: string) => {
    // A Redis that rejects writes still answers reads, with counts that do not grow.
    if (step === 'read' && outages.isDown()) return countLocally(step, client)
    try {
      const count = await new Promise<Count>((resolve, reject) => {
        redis[step](client, (fault, result) => (result === null ? reject(fault) : resolve(result)), MINUTE_MS, max)
      })
      if (step === 'incr') outages.worked()
      return count
    } catch (fault) {
      outages.failed(fault)
      if (step === 'incr') countedLocally += 1
      return countLocally(step, client)
    }
  }

  const count = async (step: Step, client: string): Promise<Count> => {
    if (shared === undefined) return countLocally(step, client)
    const { current, ttl } = await countShared(shared, step, client)
    const now = clock()
    Object.assign(sharedWindowOf(client, now), { current, endsAt: now + ttl })
    return { current, ttl }
  }

  const allowanceOf = ({ current, ttl }: Count): Allowance => ({
    max,
    remaining: Math.max(0, max - current),
    reset: Math.ceil(ttl / 1_000),
  })

  return {
    /**
     * Counts a request by the last count of the shared store, which is updated in the background. Returns null and
     * counts nothing when no request remains.
     */
    take(client: string): Allowance | null {
      if (shared === undefined || shared.outages.isDown())
        return countLocally('read', client).current >= max ? null : allowanceOf(countLocally('incr', client))
      const now = clock()
      const it = sharedWindowOf(client, now)
      if (it.current + it.pending >= max) return null
      it.pending += 1
      void count('incr', client).then(() => {
        it.pending -= 1
      })
      return allowanceOf({ current: it.current + it.pending, ttl: it.endsAt - now })
    },
    /** Counts a request (`incr`), or only reads the count. `isExceeded` when the count is above the limit. */
    async count(client: string, step: Step): Promise<Allowance & { readonly isExceeded: boolean }> {
      const result = await count(step, client)
      return { ...allowanceOf(result), isExceeded: result.current > max }
    },
    /** The number of requests that this process counted on its own although the limit is shared. */
    countedLocally: () => countedLocally,
  }
}

export type RateLimit = ReturnType<typeof createRateLimit>

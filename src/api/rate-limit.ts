import LocalStore from '@fastify/rate-limit/store/LocalStore.js'
import RedisStore from '@fastify/rate-limit/store/RedisStore.js'
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import type { OutageLog } from '../lib/outage-log.ts'

/** Where processes that share a limit count together; undefined for each on its own. */
export type LimitStore = { readonly redis: Redis; readonly prefix: string; readonly outages: OutageLog }

/** What is left of a client's requests, and when the count begins anew, in seconds. */
export type Allowance = { readonly max: number; readonly remaining: number; readonly reset: number }

/** A client's count, and how long it goes on, in milliseconds. */
type Count = { readonly current: number; readonly ttl: number }
type Step = 'incr' | 'read'
type Counter = (step: Step, client: string) => Promise<Count>

/** What the shared store said of a client last, and how many more requests it is being told of. */
type Known = { current: number; endsAt: number; pending: number }

const MINUTE_MS = 60_000

/** Clients that one process counts on its own; the least seen are forgotten. */
const MOST_CLIENTS = 100_000

export const allowanceHeaders = ({ max, remaining, reset }: Allowance): string[] => [
  'ratelimit-limit',
  String(max),
  'ratelimit-remaining',
  String(remaining),
  'ratelimit-reset',
  String(reset),
]

type Options = {
  readonly max: number
  readonly store: LimitStore | undefined
  /** Called for each request that this process counts on its own though the limit is shared. */
  readonly onAlone: () => void
}

/**
 * Counts the requests of each client by the minute, in the Redis of `store` or else in this process, and in this process also while that Redis
 * does not count.
 */
export const createRateLimit = ({ max, store, onAlone }: Options) => {
  const local = new LocalStore(false, false, MOST_CLIENTS)
  const shared = store && new RedisStore(false, false, store.redis, `${store.prefix}:requests:`)
  const known = new LRUCache<string, Known>({ max: MOST_CLIENTS })

  /** The library's store of this process calls back before it returns. */
  const countLocally = (step: Step, client: string): Count => {
    let count: Count = { current: 0, ttl: 0 }
    local[step](
      client,
      (_, told) => {
        if (told !== null) count = { ...told }
      },
      MINUTE_MS,
      max,
    )
    return count
  }

  const alone: Counter = async (step, client) => countLocally(step, client)

  const together =
    (redis: RedisStore, { outages }: LimitStore): Counter =>
    async (step, client) => {
      // A Redis that refuses writes still answers reads, with counts that do not rise.
      if (step === 'read' && outages.isDown()) return alone(step, client)
      try {
        const count = await new Promise<Count>((resolve, reject) => {
          redis[step](client, (fault, told) => (told === null ? reject(fault) : resolve(told)), MINUTE_MS, max)
        })
        if (step === 'incr') outages.worked()
        return count
      } catch (fault) {
        outages.failed(fault)
        if (step === 'incr') onAlone()
        return alone(step, client)
      }
    }

  const count = shared && store ? together(shared, store) : alone

  const allowanceOf = ({ current, ttl }: Count): Allowance => ({
    max,
    remaining: Math.max(0, max - current),
    reset: Math.ceil(ttl / 1_000),
  })

  const takeLocally = (client: string): Allowance | null =>
    countLocally('read', client).current >= max ? null : allowanceOf(countLocally('incr', client))

  /** What is known of a client; a count that is over is 0. */
  const knownOf = (client: string, now: number): Known => {
    const it = known.get(client) ?? { current: 0, endsAt: 0, pending: 0 }
    if (it.endsAt <= now) Object.assign(it, { current: 0, endsAt: now + MINUTE_MS })
    known.set(client, it)
    return it
  }

  const learn = (client: string, { current, ttl }: Count): void => {
    const now = performance.now()
    Object.assign(knownOf(client, now), { current, endsAt: now + ttl })
  }

  /** Counts in the background what was decided on the last count that is known. */
  const takeShared = (client: string): Allowance | null => {
    const now = performance.now()
    const it = knownOf(client, now)
    if (it.current + it.pending >= max) return null
    it.pending += 1
    void count('incr', client).then((told) => {
      it.pending -= 1
      learn(client, told)
    })
    return allowanceOf({ current: it.current + it.pending, ttl: it.endsAt - now })
  }

  return {
    max,
    /** Counts a request at once, without waiting for the shared store; null, and nothing counted, when none is left by what is known. */
    take: (client: string): Allowance | null =>
      store === undefined || store.outages.isDown() ? takeLocally(client) : takeShared(client),
    /** Counts a request, or only looks. `isExceeded` when it was one too many. */
    async count(client: string, step: Step): Promise<Allowance & { readonly isExceeded: boolean }> {
      const told = await count(step, client)
      if (store !== undefined) learn(client, told)
      return { ...allowanceOf(told), isExceeded: told.current > max }
    },
  }
}

export type RateLimit = ReturnType<typeof createRateLimit>

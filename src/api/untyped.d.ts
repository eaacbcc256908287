/** Types for modules of packages that have none. */

declare module '@fastify/rate-limit/store/RedisStore.js' {
  type Callback = (fault: Error | null, count: { readonly current: number; readonly ttl: number } | null) => void
  export default class RedisStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, redis: object, key: string)
    incr(client: string, callback: Callback, timeWindow: number, max: number): void
    read(client: string, callback: Callback, timeWindow: number, max: number): void
  }
}

declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    encodings<T extends string>(available: readonly T[], options: { readonly preferred: readonly T[] }): T[]
    mediaTypes<T extends string>(available: readonly T[]): T[]
  }
}

/** Node's own bound on a request's head, in characters: within it, a parameter's schema judges its length. */
export const MAX_PARAM_LENGTH = 16_384

/** Most bytes of a body, for routes that name no limit of their own. */
export const BODY_LIMIT = 65_536

/** How much may be asked of one process, and by one client. */
export type Limits = {
  /** Requests of one client a minute; 0 for as many as they like. */
  readonly requestsPerMinute: number
  /** Streams that may be open at once, of all and of one client. */
  readonly maxStreams: number
  readonly maxStreamsPerClient: number
  /** Requests that may wait for a block or transaction at once, of all and of one client. */
  readonly maxWaits: number
  readonly maxWaitsPerClient: number
  /** Requests are shed while the event loop is late by more than this on average and not for a moment alone, in milliseconds; 0 for never. */
  readonly maxEventLoopDelayMs: number
  /** Requests are shed while the heap holds more than this, in bytes; 0 for never. */
  readonly maxHeapBytes: number
  /** Proxies in front of the service, each of which adds the address it saw to `X-Forwarded-For`. */
  readonly trustedProxies: number
}

/** How many requests were turned away, by why. */
export type Refused = { load: number; rate: number }

/** How many requests this process counted on its own though the limit is shared. */
export type Counted = { alone: number }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered under whatever load and to whoever asks: what tells whether the process should be asked at all. */
    readonly unlimited?: true
  }
}

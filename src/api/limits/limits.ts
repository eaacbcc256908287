/** Longest path parameter, in characters: as long as Node allows the head of a request, so that schemas decide. */
export const MAX_PARAM_LENGTH = 16_384

/** Largest body in bytes, for routes without a limit of their own. */
export const BODY_LIMIT = 65_536

/** The limits of one process and of one client. */
export type Limits = {
  /** Most requests of one client per minute; 0 for no limit. */
  readonly requestsPerMinute: number
  /** Most open streams of all clients, and of one client. */
  readonly maxStreams: number
  readonly maxStreamsPerClient: number
  /** Most requests that wait for a block or transaction, of all clients and of one client. */
  readonly maxWaits: number
  readonly maxWaitsPerClient: number
  /** Requests are rejected while the average delay of the event loop stays above this, in milliseconds; 0 for never. */
  readonly maxEventLoopDelayMs: number
  /** Requests are rejected while more than this is used of the heap, in bytes; 0 for never. */
  readonly maxHeapBytes: number
  /** Most bytes of large bodies that clients have not read yet; half of it for one client. */
  readonly maxUnreadBytes: number
  /** Connections to the database that reads use. */
  readonly connections: number
  /** Proxies in front of the service, each of which adds the address it saw to `X-Forwarded-For`. */
  readonly trustedProxies: number
}

/** The number of rejected requests by reason. */
export type Refused = { load: number; rate: number; unread: number }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Exempt from rate limits and load shedding: health endpoints must answer under any load. */
    readonly unlimited?: true
  }
}
